// SPDX-License-Identifier: BSD-3-Clause
#include "select/late.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algorithms/lateness.hpp"
#include "select/candidates.hpp"
#include "select/placed.hpp"

namespace stretto::select {

namespace {

using schedule::Collective;

double mean(std::span<const double> numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
           static_cast<double>(numbers.size());
}

const Link &link_of(const Situation &s) {
    return s.hosts > 1 ? s.profile.between : s.profile.inside;
}

// How far single arrivals are from what is expected: the mean, of the rank where it is most.
double spread_of(const Arrivals &expected, std::span<const Arrivals> recent) {
    double most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        double sum = 0;
        for (const Arrivals &each : recent)
            sum += std::abs(each[rank] - expected[rank]);
        most = std::max(most, sum / static_cast<double>(recent.size()));
    }
    return most;
}

// All come at once; and the one who is expected first comes as late as the last.
std::vector<Arrivals> wrong_estimates(const Arrivals &expected) {
    std::vector<Arrivals> found(2, Arrivals(expected.size(), 0));
    const auto [first, last] = std::ranges::minmax_element(expected);
    found[1][static_cast<std::size_t>(first - expected.begin())] = *last;
    return found;
}

} // namespace

std::vector<int> sorted_by_arrival(const Arrivals &arrivals, double margin) {
    std::vector<int> order(arrivals.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int rank) {
        const double arrival = arrivals[static_cast<std::size_t>(rank)];
        return margin > 0 ? std::round(arrival / margin) : arrival;
    });
    return order;
}

std::vector<std::string> made_for(const Situation &s, const Arrivals &expected, double spread) {
    if (s.ranks < 3 || s.bytes < s.element)
        return {};
    const Link &link = link_of(s);
    algorithms::Lateness lateness = {.arrivals = expected,
                                     .spread = spread,
                                     .bytes = s.bytes,
                                     .elements = elements(s),
                                     // what all share, each message of a round takes
                                     .message =
                                         link.latency + link.overhead + s.profile.common * s.ranks,
                                     .byte = link.byte,
                                     .reduce = link.reduce};
    std::ranges::sort(lateness.arrivals);
    std::vector<std::string> found;
    for (const algorithms::Algorithm &each : algorithms::all())
        if (each.collective == Collective::allreduce && each.for_arrivals != nullptr)
            for (algorithms::Values &given : each.for_arrivals(lateness))
                found.push_back(algorithms::to_text({&each, std::move(given)}));
    return found;
}

Late choose_late(const Situation &s, const std::string &balanced, const Arrivals &expected,
                 std::span<const Arrivals> recent, const Late &now, const Experience &experience,
                 const LateRule &rule) {
    const auto means = [&](const Placed &placed, std::span<const Arrivals> cases) {
        return corrected(placed.means(cases), cases, experience.factor(placed.name()));
    };
    const auto at_once = [](double margin) {
        return Late{.margin = margin, .why = "all come at once"};
    };
    // No algorithm saves ranks more than their wait for the last one.
    if (now.margin > 0 && wait(expected) < now.margin)
        return at_once(now.margin);
    const Placed base(s, balanced);
    const std::vector<Arrivals> wrong = wrong_estimates(expected);
    const std::vector<double> base_wrong = means(base, wrong);
    const double margin = rule.gain * base_wrong[0];
    if (wait(expected) < margin)
        return at_once(margin);
    const std::vector<int> order = sorted_by_arrival(expected, margin);
    const double spread = spread_of(expected, recent);
    if (spread < margin) // one case stands for all
        recent = recent.last(1);
    const double base_mean = mean(means(base, recent));
    const double risk = s.ranks < rule.few ? rule.risk_of_few : rule.risk;

    Late best{.mean_elapsed = base_mean - margin,
              .balanced_elapsed = base_mean,
              .margin = margin,
              .why = "nothing saves enough for these arrivals"};
    const auto consider = [&](const std::string &name, const std::vector<int> &by) {
        const Placed contender(s, name, by);
        const double mean_elapsed = mean(means(contender, recent));
        // Prices flatter some algorithms, as what has served shows.
        const double to_save = experience.knows(name) ? margin : rule.untried * margin;
        if (mean_elapsed >= best.mean_elapsed || mean_elapsed >= base_mean - to_save)
            return;
        const std::vector<double> if_wrong = means(contender, wrong);
        for (std::size_t i = 0; i < wrong.size(); ++i)
            if (if_wrong[i] > risk * base_wrong[i])
                return;
        best.algorithm = contender.name();
        best.order = by;
        best.mean_elapsed = mean_elapsed;
    };
    if (!now.algorithm.empty()) {
        consider(now.algorithm, now.order);
        if (!best.algorithm.empty()) // plans anew only for what is worth it
            best.mean_elapsed -= margin / 2;
    }
    for (const std::string &name : made_for(s, expected, spread))
        consider(name, order);
    if (!best.algorithm.empty())
        best.why = "rank " + std::to_string(order.back()) + " is expected " +
                   time_in_words(expected[static_cast<std::size_t>(order.back())]) +
                   " after the first: " + time_in_words(best.mean_elapsed) +
                   " on the average by price, " + balanced + " " + time_in_words(base_mean);
    return best;
}

Late forced_late(const Situation &s, std::string_view algorithm, const Arrivals &expected,
                 std::span<const Arrivals> recent) {
    const double margin = LateRule().gain * link_of(s).byte * static_cast<double>(s.bytes);
    for (std::string &name : made_for(s, expected, spread_of(expected, recent)))
        if (algorithms::name_in(name) == algorithm)
            return {.algorithm = std::move(name),
                    .order = sorted_by_arrival(expected, margin),
                    .margin = margin,
                    .why = "forced, for the arrivals of the last calls"};
    return {};
}

} // namespace stretto::select
