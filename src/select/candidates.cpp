// SPDX-License-Identifier: BSD-3-Clause
#include "select/candidates.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/status.hpp"

namespace stretto::select {

using algorithms::Algorithm;
using algorithms::Value;

namespace {

// Pieces and pairs of them: some ten milliseconds.
constexpr std::size_t kWorkOfOne = 1u << 20;

// Orders of the groups over so many ranks that differ in what they are good for:
//
//   P               all r, but with r > 0 the same bits only where P is a power of two
//   2 x .. 3 x ..   twos, threes and what is left: as many steps saved with the same bits as can be
//   hosts x ranks   where hosts have as many ranks: what goes between hosts is least
std::vector<Value> groups(const Situation &s) {
    std::vector<Value> found = {{}};
    Value small;
    std::int64_t rest = s.ranks;
    for (const std::int64_t factor : {2, 3})
        for (; rest % factor == 0; rest /= factor)
            small.push_back(factor);
    if (rest > 1)
        small.push_back(rest);
    if (small.size() > 1)
        found.push_back(small);
    if (s.hosts > 1 && s.hosts < s.ranks && s.ranks % s.hosts == 0)
        found.push_back({s.hosts, s.ranks / s.hosts});
    return found;
}

bool has(const Algorithm &algorithm, std::string_view name) {
    return std::ranges::any_of(algorithm.parameters, [name](const algorithms::Parameter &each) {
        return each.name == name;
    });
}

Topology topology(const Situation &s) {
    return {s.host_of, s.profile.inside, s.profile.between, std::numeric_limits<std::size_t>::max(),
            s.profile.common};
}

} // namespace

std::vector<algorithms::Choice> candidates(const Algorithm &algorithm, const Situation &s) {
    std::vector<algorithms::Choice> found = {{&algorithm, {}}};
    if (!has(algorithm, "group"))
        return found;
    for (const Value &group : groups(s))
        for (std::int64_t r = 0;; ++r) {
            algorithms::Choice choice{&algorithm, {}};
            if (!group.empty())
                choice.parameters["group"] = group;
            if (r > 0)
                choice.parameters["r"] = {r};
            const bool more = has(algorithm, "r");
            if (!misfit(choice, problem_of(choice, s.ranks)).empty())
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
        return 1; // the number that nobody looks at
    const std::size_t count = s.bytes / s.element;
    const auto parts = static_cast<std::size_t>(s.ranks);
    return schedule::in_parts(s.collective) ? (count + parts - 1) / parts * parts : count;
}

std::vector<Priced> priced(const Situation &s) {
    const std::size_t slice = slice_bytes(s);
    const Topology where = topology(s);
    std::vector<Priced> result;
    for (const Algorithm &each : algorithms::all()) {
        if (each.collective != s.collective)
            continue;
        for (const algorithms::Choice &choice : candidates(each, s)) {
            Priced &entry = result.emplace_back();
            entry.choice = choice;
            entry.excluded = obstacle(choice, s);
            entry.name = each.name;
            if (!entry.excluded.empty() && choice.parameters.empty())
                continue;
            const schedule::Schedule made = algorithms::make(choice, s.ranks);
            entry.name = made.name;
            if (!entry.excluded.empty())
                continue;
            try {
                entry.price = price(made, made.partition.fitting(elements(s)), s.element, slice,
                                    where, kWorkOfOne);
            } catch (const Error &error) {
                if (error.status() != Status::unsupported)
                    throw;
                entry.excluded = "takes too long to price";
            }
        }
    }
    return result;
}

} // namespace stretto::select
