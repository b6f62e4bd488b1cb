// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/pairs.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace stretto::tuning {

namespace {

constexpr double kStandsOutFactor = 1.5;
constexpr std::size_t kMostNamedPairs = 2;

using Number = double (*)(const cost::Link &);

double alpha(const cost::Link &link) {
    return link.latency + link.overhead;
}
double byte(const cost::Link &link) {
    return link.byte;
}

template<class Range>
std::vector<double> sorted(const Range &links, Number number) {
    std::vector<double> found;
    for (const Surveyed &each : links)
        found.push_back(number(each.link));
    std::sort(found.begin(), found.end());
    return found;
}

double median(const std::vector<Surveyed> &links, Number number) {
    return sorted(links, number)[links.size() / 2];
}

std::string digits(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", number);
    return text;
}

std::string range(const std::vector<Surveyed> &links, Number number, double unit) {
    const std::vector<double> all = sorted(links, number);
    return digits(all.front() / unit) + " to " + digits(all.back() / unit);
}

} // namespace

cost::Link of_pairs(const std::vector<Surveyed> &all, const cost::Link &assumed, std::string &how) {
    if (all.empty())
        return assumed;
    std::map<int, std::vector<Surveyed>> by_rank;
    for (const Surveyed &each : all)
        by_rank[each.rank].push_back(each);
    if (all.size() == 1) {
        how = all[0].how + ", with rank " + std::to_string(all[0].rank) + all[0].place;
        return all[0].link;
    }
    cost::Link link = assumed;
    link.latency = median(all, [](const cost::Link &of) { return of.latency; });
    link.overhead = median(all, [](const cost::Link &of) { return of.overhead; });
    link.byte = median(all, byte);
    how = "median of " + std::to_string(all.size()) + " surveys with " +
          std::to_string(by_rank.size()) + (by_rank.size() == 1 ? " rank" : " ranks") +
          ": a message " + range(all, alpha, 1e-6) + " us, a byte " + range(all, byte, 1e-9) +
          " ns";
    std::size_t others = 0;
    const double message = median(all, alpha), one = median(all, byte);
    std::size_t named = 0;
    for (const auto &[rank, surveys] : by_rank) {
        const double of_message = median(surveys, alpha), of_byte = median(surveys, byte);
        if (of_message < kStandsOutFactor * message && of_byte < kStandsOutFactor * one)
            continue;
        if (++named > kMostNamedPairs) {
            ++others;
            continue;
        }
        how += "; rank " + std::to_string(rank) + surveys[0].place +
               " stands out: " + digits(of_message * 1e6) + " us, " + digits(of_byte * 1e9) + " ns";
    }
    if (others > 0)
        how += "; and " + std::to_string(others) + " more";
    return link;
}

} // namespace stretto::tuning
