// SPDX-License-Identifier: BSD-3-Clause
#include "select/candidates.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/status.hpp"
#include "cost/indexed_network.hpp"
#include "select/rules.hpp"

namespace stretto::select {

using algorithms::Algorithm;

namespace {

bool has(const Algorithm &algorithm, std::string_view name) {
    return std::ranges::any_of(algorithm.parameters, [name](const algorithms::Parameter &each) {
        return each.name == name;
    });
}

// Orders of the groups over so many ranks that differ in what they are good for:
//
//   P               all r, but with r > 0 the same bits only where P is a power of two
//   2 x .. 3 x ..   twos, threes and what is left: as many steps saved with the same bits as can be
//   hosts x ranks   where hosts have as many ranks: what goes between hosts is least
std::vector<algorithms::Value> groups(const Situation &s) {
    std::vector<algorithms::Value> found = {{}};
    algorithms::Value small;
    std::int64_t rest = s.ranks;
    for (const std::int64_t factor : {2, 3})
        for (; rest % factor == 0; rest /= factor)
            small.push_back(factor);
    if (rest > 1)
        small.push_back(rest);
    if (small.size() > 1)
        found.push_back(small);
    if (s.hosts > 1 && s.hosts < s.ranks && s.ranks % s.hosts == 0)
        if (const algorithms::Value placed = {s.hosts, s.ranks / s.hosts}; found.back() != placed)
            found.push_back(placed);
    return found;
}

// What runs between hosts: all that a composition can run there; of allreduces, of which there are
// many, some that send few messages one after another, some that send few bytes.
std::vector<std::string_view> between_hosts(const Algorithm &algorithm) {
    if (algorithm.collective == schedule::Collective::allreduce)
        return {"ring", "circulant", "recursive_doubling", "rabenseifner_32", "segmented_ring"};
    const auto inter =
        std::ranges::find(algorithm.parameters, "inter", &algorithms::Parameter::name);
    return {inter->names.begin(), inter->names.end()};
}

// With one leader of each host, with all, and with numbers between.
std::vector<algorithms::Choice> by_leaders(const Algorithm &algorithm, const Situation &s) {
    std::size_t most = static_cast<std::size_t>(s.ranks); // leaders that each host has
    for (const auto &host : topology_of(s).groups(schedule::Topology::Level::host, s.ranks))
        most = std::min(most, host.size());
    std::vector<algorithms::Choice> found;
    for (const std::string_view inter : between_hosts(algorithm))
        for (std::size_t leaders = 1; leaders <= most;
             leaders = std::max(leaders + 1, std::min(2 * leaders, most))) {
            std::string text = std::string(algorithm.name) + "(inter=" + std::string(inter);
            if (leaders < most)
                text += ",leaders=" + std::to_string(leaders);
            found.push_back(algorithms::parse(s.collective, text + ")"));
        }
    return found;
}

// In 1, 4, 16 chunks, of 128 KiB to 8 MiB where the vector allows: chunks between them hardly
// differ, and the slices of one chunk overlap as well.
std::vector<algorithms::Choice> by_chunks(const Algorithm &algorithm, const Situation &s) {
    constexpr std::size_t kLeastBytes = std::size_t{128} << 10, kMostBytes = std::size_t{8} << 20;
    constexpr std::int64_t kMostPieces = 16;
    std::vector<algorithms::Choice> found;
    for (std::int64_t chunks = 1; chunks <= kMostPieces; chunks *= 4) {
        const std::size_t bytes = s.bytes / static_cast<std::size_t>(chunks);
        if (bytes >= kLeastBytes && (bytes <= kMostBytes || chunks == kMostPieces))
            found.push_back({&algorithm, {{"chunks", {chunks}}}});
    }
    return found;
}

std::vector<algorithms::Choice> compositions(const Algorithm &algorithm, const Situation &s) {
    return has(algorithm, "leaders") ? by_leaders(algorithm, s) : by_chunks(algorithm, s);
}

cost::IndexedNetwork network_of(const Situation &s) {
    const Profile &profile = s.profile;
    return {{.host_of = s.host_of,
             .inside = profile.inside,
             .between = profile.between,
             .inside_pairs = profile.concurrency.inside,
             .between_pairs = profile.concurrency.between,
             .eager = std::numeric_limits<std::size_t>::max(),
             .ring = static_cast<double>(s.ring != 0 ? s.ring : ring_bytes(s.ranks, s.hosts)),
             .common = profile.common,
             .cores = crowds_one_machine(s) ? s.cores : 0},
            s.ranks};
}

cost::Price price_of(const schedule::Schedule &made, const Situation &s,
                     const cost::IndexedNetwork &there, const cost::Limits &limits) {
    return cost::price(made, made.partition.fitting(elements(s)), s.element, slice_bytes(s), there,
                       limits);
}

} // namespace

std::vector<algorithms::Choice> candidates(const Algorithm &algorithm, const Situation &s) {
    std::vector<algorithms::Choice> found = {{&algorithm, {}}};
    if (algorithm.of_hosts && shared_hosts(s))
        return compositions(algorithm, s);
    if (!has(algorithm, "group"))
        return found;
    for (const algorithms::Value &group : groups(s))
        for (std::int64_t r = 0;; ++r) {
            algorithms::Choice choice{&algorithm, {}};
            if (!group.empty())
                choice.parameters["group"] = group;
            if (r > 0)
                choice.parameters["r"] = {r};
            const bool more = has(algorithm, "r");
            if (!misfit(choice, problem_of(choice, s)).empty())
                break; // no more steps to save
            if (!choice.parameters.empty())
                found.push_back(choice);
            if (!more)
                break;
        }
    return found;
}

std::size_t elements(const Situation &s) {
    if (s.collective == schedule::Collective::barrier)
        return 1; // the number that no rank looks at
    const std::size_t count = s.bytes / s.element;
    const auto parts = static_cast<std::size_t>(s.ranks);
    return schedule::in_parts(s.collective) ? (count + parts - 1) / parts * parts : count;
}

cost::Price price_of(const schedule::Schedule &made, const Situation &s) {
    return price_of(made, s, network_of(s), {.work = kQuick.work});
}

std::vector<cost::Elapsed> elapsed_of(const schedule::Schedule &made, const Situation &s,
                                      std::span<const cost::Arrivals> cases) {
    return cost::elapsed(made, made.partition.fitting(elements(s)), s.element, slice_bytes(s),
                         network_of(s), cases);
}

std::vector<Priced> priced(const Situation &s, const Effort &effort) {
    const cost::IndexedNetwork there = network_of(s);
    std::vector<Priced> result;
    std::vector<schedule::Schedule> made; // of each that can run; nothing of the others
    std::vector<std::size_t> order;
    for (const Algorithm &each : algorithms::all()) {
        if (each.collective != s.collective)
            continue;
        for (algorithms::Choice &choice : candidates(each, s)) {
            std::string why = unoffered(choice, s);
            if (why.empty())
                order.push_back(result.size());
            schedule::Schedule &one = made.emplace_back();
            if (why.empty() || !choice.parameters.empty())
                one = make(choice, s);
            else
                one.name = each.name;
            result.push_back({std::move(choice), one.name, std::move(why), {}});
        }
    }
    // What was measured to be best comes first, so that most others soon show to be dearer.
    const Rule measured = rule(s);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        return std::ranges::find(measured.names, made[i].name) - measured.names.begin();
    });
    double least = std::numeric_limits<double>::infinity();
    std::size_t left = effort.work;
    for (const std::size_t share : {64U, 4U, 1U}) { // those that take least work first
        std::vector<std::size_t> rest;
        for (const std::size_t i : order) {
            const cost::Limits limits{std::min(left, effort.work / share), effort.within * least};
            Priced &each = result[i];
            try {
                each.price = price_of(made[i], s, there, limits);
                each.excluded.clear();
                least = std::min(least, each.price.seconds);
                left -= std::min(left, each.price.work);
                if (each.price.seconds > limits.seconds)
                    each.excluded =
                        "takes longer by price: at least " + time_in_words(each.price.seconds);
            } catch (const Error &error) {
                if (error.status() != Status::unsupported)
                    throw;
                left -= limits.work;
                each.excluded = "takes too long to price";
                rest.push_back(i);
            }
        }
        order = std::move(rest);
    }
    return result;
}

} // namespace stretto::select
