// SPDX-License-Identifier: BSD-3-Clause
#include "select/late.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <utility>

#include "algorithms/early_steps.hpp"
#include "select/candidates.hpp"
#include "select/placed.hpp"

namespace stretto::select {

namespace {

using schedule::Collective;
using schedule::Position;

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

std::string with(const char *format, long first, long second = 0) {
    char text[64];
    std::snprintf(text, sizeof text, format, first, second);
    return text;
}

// Blocks or segments: as many as let a pipeline of `steps` steps be fastest, where each costs
// `message` seconds and all bytes take `bytes` seconds; at most one an element.
long pieces(double steps, double bytes, double message, std::size_t elements) {
    constexpr double kMost = 256;
    const double best = std::sqrt(steps * bytes / std::max(message, 1e-9));
    return std::lround(std::clamp(best, 1.0, std::min(kMost, static_cast<double>(elements))));
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
    // What all share, each message of a round takes.
    const double message = link.latency + link.overhead + s.profile.common * s.ranks;
    const double bytes = link.byte * static_cast<double>(s.bytes);
    Arrivals sorted = expected;
    std::ranges::sort(sorted);
    std::vector<std::string> found;
    constexpr double kGuard = 2; // spreads
    const algorithms::Value ahead = algorithms::early_steps(
        sorted, algorithms::ring_step(s.ranks, s.bytes, message, link.byte, link.reduce),
        kGuard * spread);
    if (ahead.front() > 0) {
        std::string steps;
        for (const std::int64_t each : ahead)
            steps += (steps.empty() ? "" : "x") + std::to_string(each);
        found.push_back("pre_reduced_ring(ahead=" + steps + ")");
    }
    const double doublings = std::ceil(std::log2(s.ranks - 1));
    found.push_back(with("late_rooted(blocks=%ld,chain=2)",
                         pieces(doublings + 1, bytes, message, elements(s))));
    found.push_back(
        with("chain(segments=%ld)", pieces(2.0 * (s.ranks - 1), bytes, message, elements(s))));
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
        if (name.starts_with(algorithm) && name[algorithm.size()] == '(')
            return {.algorithm = std::move(name),
                    .order = sorted_by_arrival(expected, margin),
                    .margin = margin,
                    .why = "forced, for the arrivals of the last calls"};
    return {};
}

} // namespace stretto::select
