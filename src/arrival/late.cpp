// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/late.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "algorithms/lateness.hpp"
#include "arrival/detection.hpp"
#include "select/candidates.hpp"
#include "select/placed.hpp"

namespace stretto::arrival {

using namespace select; // which prices what is chosen from

namespace {

double mean(std::span<const double> numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
           static_cast<double>(numbers.size());
}

const cost::Link &link_of(const Situation &s) {
    return s.hosts > 1 ? s.profile.between : s.profile.inside;
}

// How far single arrivals are from what is expected: the mean, of the rank where it is most.
double spread_of(const cost::Arrivals &expected, std::span<const cost::Arrivals> recent) {
    double most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        double sum = 0;
        for (const cost::Arrivals &each : recent)
            sum += std::abs(each[rank] - expected[rank]);
        most = std::max(most, sum / static_cast<double>(recent.size()));
    }
    return most;
}

// All ranks arrive together; and `first`, which is expected first, arrives as late as the last.
// With a root, ranks have places of their own in the synchronous choice as well, so each rank costs
// something else if it is late: there it is one rank after another, or some of many.
std::vector<cost::Arrivals> wrong_estimates(const Situation &s, const cost::Arrivals &expected,
                                            int first) {
    constexpr std::size_t kMostRanks = 16;
    const cost::Arrivals at_once(expected.size(), 0);
    const double last = *std::ranges::max_element(expected);
    const auto late = [&](std::size_t rank) {
        cost::Arrivals found = at_once;
        found[rank] = last;
        return found;
    };
    std::vector<cost::Arrivals> found = {at_once};
    if (!schedule::rooted(s.collective))
        found.push_back(late(static_cast<std::size_t>(first)));
    else
        for (std::size_t i = 0, n = std::min(kMostRanks, expected.size()); i < n; ++i)
            found.push_back(late(i * expected.size() / n));
    return found;
}

// What wrong estimates cost, at worst, as a factor.
double risk_of(std::span<const double> candidate, std::span<const double> synchronous) {
    return std::max(candidate.front() / synchronous.front(),
                    mean(candidate.subspan(1)) / mean(synchronous.subspan(1)));
}

// The last ranks arrive just too late to count with the others.
cost::Arrivals hardly_late(int ranks, const Detection &detection) {
    constexpr double kHardlyFactor = 1.01;
    cost::Arrivals arrivals(static_cast<std::size_t>(ranks), 0);
    std::fill(arrivals.end() - detection.late, arrivals.end(), kHardlyFactor * detection.grace);
    return arrivals;
}

std::string who_is_late(const Late &late, const cost::Arrivals &expected,
                        const cost::Arrivals &shape) {
    if (late.latecomers == 0) {
        const auto last = std::ranges::max_element(expected);
        return "rank " + std::to_string(last - expected.begin()) + " is expected " +
               time_in_words(*last) + " after the first";
    }
    const std::string who =
        late.latecomers == 1 ? "one rank is" : std::to_string(late.latecomers) + " ranks are";
    return who + " expected " + time_in_words(shape.back()) +
           " after the first, and which, the call shows";
}

} // namespace

std::vector<int> hosts_by_arrival(const cost::Arrivals &arrivals, double margin,
                                  std::span<const int> host_of) {
    struct Host {
        int first = 0; // its rank with the lowest number
        double last = 0;
    };
    const auto arrival = [&](int rank) {
        const double exact = arrivals[static_cast<std::size_t>(rank)];
        return margin > 0 ? std::round(exact / margin) : exact;
    };
    std::vector<int> order(arrivals.size());
    std::iota(order.begin(), order.end(), 0);
    std::map<int, Host> hosts;
    const auto host = [&](int rank) -> Host & {
        return hosts.try_emplace(host_of[static_cast<std::size_t>(rank)], Host{rank, 0})
            .first->second;
    };
    for (const int rank : order)
        host(rank).last = std::max(host(rank).last, arrival(rank));
    std::ranges::stable_sort(order, {}, [&](int rank) {
        return std::tuple(host(rank).last, host(rank).first, arrival(rank));
    });
    return order;
}

std::vector<int> sorted_by_arrival(const cost::Arrivals &arrivals, double margin) {
    return hosts_by_arrival(arrivals, margin, std::vector<int>(arrivals.size(), 0));
}

bool missed(const cost::Arrivals &expected, const cost::Arrivals &came, double margin) {
    const auto last = std::ranges::max_element(expected) - expected.begin();
    return *std::ranges::max_element(came) > came[static_cast<std::size_t>(last)] + margin;
}

void place_root(const Situation &s, std::vector<int> &order) {
    const auto root = std::ranges::find(order, s.root);
    if (s.collective == schedule::Collective::broadcast)
        std::rotate(order.begin(), root, root + 1);
    else if (s.collective == schedule::Collective::reduce)
        std::rotate(root, root + 1, order.end());
}

std::vector<int> placed_by_arrival(const Situation &s, std::string_view algorithm,
                                   const cost::Arrivals &arrivals, double margin) {
    const auto choice = algorithms::parse(s.collective, algorithm);
    std::vector<int> order = choice.algorithm->in_a_chain && shared_hosts(s)
                                 ? hosts_by_arrival(arrivals, margin, s.host_of)
                                 : sorted_by_arrival(arrivals, margin);
    place_root(s, order);
    return order;
}

std::vector<std::string> made_for(const Situation &s, const cost::Arrivals &expected,
                                  double spread) {
    if (s.ranks < 3 || s.bytes < s.element)
        return {};
    const cost::Link &link = link_of(s);
    algorithms::Lateness lateness = {.arrivals = expected,
                                     .spread = spread,
                                     .bytes = s.bytes,
                                     .elements = elements(s),
                                     .slice = slice_bytes(s),
                                     // what all share, each message of a round takes
                                     .message =
                                         link.latency + link.overhead + s.profile.common * s.ranks,
                                     .byte = link.byte,
                                     .reduce = link.reduce};
    std::ranges::sort(lateness.arrivals);
    std::vector<std::string> found;
    for (const algorithms::Algorithm &each : algorithms::all())
        if (each.collective == s.collective && each.for_arrivals != nullptr)
            for (algorithms::Values &given : each.for_arrivals(lateness))
                found.push_back(algorithms::to_text({&each, std::move(given)}));
    return found;
}

Late choose_late(const Situation &s, const std::string &synchronous, const cost::Arrivals &expected,
                 std::span<const cost::Arrivals> recent, const Late &now,
                 const Experience &experience, const LateRule &rule) {
    const auto means = [&](const Placed &placed, std::string_view known_as,
                           std::span<const cost::Arrivals> cases) {
        return corrected(placed.means(cases), cases, experience.factor(known_as));
    };
    const cost::Arrivals shape = shape_of(recent);
    const double waits = std::max(wait(expected), rule.detection ? wait(shape) : 0);
    const auto at_once = [](double margin) {
        return Late{.margin = margin, .why = "all come at once"};
    };
    // No algorithm saves ranks more than their wait for the last one.
    if (now.margin > 0 && waits < now.margin)
        return at_once(now.margin);
    const Placed base(s, synchronous);
    const std::vector<cost::Arrivals> together = {cost::Arrivals(expected.size(), 0)};
    const double margin = rule.gain * means(base, base.name(), together).front();
    if (waits < margin)
        return at_once(margin);
    const int first = sorted_by_arrival(expected, margin).front();
    const std::vector<cost::Arrivals> wrong = wrong_estimates(s, expected, first);
    // Risk is by prices alone: what calls took says how right they are where estimates are right.
    const std::vector<double> base_wrong = base.means(wrong);
    const double spread = spread_of(expected, recent);
    if (spread < margin) // one case stands for all
        recent = recent.last(1);
    const double base_mean = mean(means(base, base.name(), recent));
    const double risk = s.ranks < rule.few ? rule.risk_of_few : rule.risk;

    Late best{.mean_elapsed = base_mean,
              .synchronous_elapsed = base_mean,
              .margin = margin,
              .why = "nothing saves enough for these arrivals"};
    double to_beat = base_mean - margin, doubts = 0; // what the best has too much, being untried
    // `doubted`: what that would be.
    const auto consider = [&](const Placed &candidate, std::string_view known_as, Late late,
                              const std::vector<double> &took, const auto &doubted,
                              const auto &is_risky) {
        late.mean_elapsed = mean(took);
        // Prices flatter some algorithms, as calls show that they have run.
        const bool tried = experience.knows(known_as);
        const double to_save = tried ? margin : rule.untried * margin;
        if (late.mean_elapsed >= to_beat || late.mean_elapsed >= base_mean - to_save)
            return;
        const double too_much = tried ? 0 : doubted(late.mean_elapsed);
        const bool loses = !best.algorithm.empty() && late.mean_elapsed + too_much >= to_beat;
        if (loses || is_risky())
            return;
        doubts = too_much;
        to_beat = late.mean_elapsed + too_much;
        late.algorithm = candidate.name();
        late.synchronous_elapsed = base_mean;
        late.margin = margin;
        best = std::move(late);
    };
    const auto in_order = [&](const std::string &name, const std::vector<int> &by) {
        const Placed candidate(s, name, by);
        std::vector<double> took = means(candidate, name, recent);
        const auto wrongly = [&] {
            return mean(means(candidate, name, std::span(wrong).subspan(1)));
        };
        if (const double missed = rule.missed; missed > 0)
            for (const double by_mistake = wrongly(); double &each : took)
                each = std::max(each, std::lerp(each, by_mistake, missed));
        // Of those that have run no call, and whose prices are close, the one is chosen that wrong
        // estimates cost least.
        const auto doubted = [&](double price) { return rule.doubt * (wrongly() - price); };
        consider(candidate, name, {.order = by}, took, doubted,
                 [&] { return risk_of(candidate.means(wrong), base_wrong) > risk; });
    };
    const auto by_detection = [&](const std::string &name, const Detection &detection) {
        const Placed candidate(s, name);
        const std::string known_as = when_detected(name);
        const auto took = [&](std::span<const cost::Arrivals> cases) {
            std::vector<double> found(cases.size());
            for (const bool late : {false, true}) {
                std::vector<std::size_t> which;
                std::vector<cost::Arrivals> begin;
                for (std::size_t i = 0; i < cases.size(); ++i)
                    if (Detected call = detected(cases[i], detection); call.late == late) {
                        found[i] = call.waited;
                        which.push_back(i);
                        begin.push_back(std::move(call.begin));
                    }
                const std::vector<double> then =
                    late ? means(candidate, known_as, begin) : means(base, base.name(), begin);
                for (std::size_t k = 0; k < which.size(); ++k)
                    found[which[k]] += then[k];
            }
            return found;
        };
        consider(
            candidate, known_as, {.latecomers = detection.late}, took(recent),
            [](double) { return 0.0; },
            [&] {
                const std::vector<cost::Arrivals> hardly = {hardly_late(s.ranks, detection)};
                return took(hardly).front() > risk * means(base, base.name(), hardly).front();
            });
    };
    // Ranks that take turns with being late, each for some calls, look like one that always is.
    constexpr double kOftenShare = 0.25;
    const bool often_missed = rule.missed >= kOftenShare;
    const bool another_each_time = rule.detection && (spread >= margin || often_missed);
    if (!now.algorithm.empty()) {
        if (now.latecomers == 0)
            in_order(now.algorithm, now.order);
        else if (another_each_time)
            by_detection(now.algorithm, {now.latecomers, margin});
        if (!best.algorithm.empty()) // plans anew only for what is worth it
            to_beat -= margin / 2;
    }
    if (wait(expected) >= margin)
        for (const std::string &name : made_for(s, expected, spread))
            in_order(name, placed_by_arrival(s, name, expected, margin));
    to_beat -= doubts;
    if (!best.algorithm.empty() && best.latecomers == 0 && !often_missed)
        to_beat -= margin; // a call need not find ranks that are known
    if (const auto detection = detection_for(shape, margin); another_each_time && detection)
        for (const std::string &name :
             made_for(s, detected(shape, *detection).begin, spread_of(shape, by_position(recent))))
            by_detection(name, *detection);
    if (!best.algorithm.empty())
        best.why = who_is_late(best, expected, shape) + ": " + time_in_words(best.mean_elapsed) +
                   " on the average by price, " + synchronous + " " + time_in_words(base_mean);
    return best;
}

Late forced_late(const Situation &s, std::string_view algorithm, const cost::Arrivals &expected,
                 std::span<const cost::Arrivals> recent) {
    const double margin = LateRule().gain * link_of(s).byte * static_cast<double>(s.bytes);
    for (const std::string &name : made_for(s, expected, spread_of(expected, recent)))
        if (algorithms::name_in(name) == algorithm)
            return {.algorithm = name,
                    .order = placed_by_arrival(s, name, expected, margin),
                    .margin = margin,
                    .why = "forced, for the arrivals of the last calls"};
    return {.margin = margin, .why = "forced, and there is nothing to make of these arrivals"};
}

} // namespace stretto::arrival
