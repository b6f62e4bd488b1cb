// SPDX-License-Identifier: BSD-3-Clause
// Numbers that tell what was done to them, and what the outcome of a run shows of a contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::test {

using namespace stretto::schedule;

// What a block holds, under three operations at once:
//   sum            exact, modulo 2^64: tells which contributions are in and how often
//   scale, shift   x -> scale*x + shift, composed: exact and not commutative, tells the order
//   rounded        a sum of doubles: tells the tree
struct Value {
    std::uint64_t sum, scale, shift;
    double rounded;
    bool operator==(const Value &) const = default;
};

inline Value contribution(Position from, Block block) {
    std::mt19937_64 random(static_cast<std::uint64_t>(from) * 1'000'003 +
                           static_cast<std::uint64_t>(block));
    const double spread = static_cast<double>(std::uint64_t{1} << (random() % 40));
    return {random(), random() | 1, random(), spread / (1.0 + static_cast<double>(random() % 97))};
}

inline Value operate(const Value &left, const Value &right) {
    return {left.sum + right.sum, left.scale * right.scale, left.scale * right.shift + left.shift,
            left.rounded + right.rounded};
}

struct Outcome {
    std::string fault;                        // empty: all ops ended
    std::vector<std::map<Block, Value>> work; // per position
};

// The reduction of input block `block`, in order of positions.
inline Value expected(const Contract &contract, const Goal &goal) {
    if (goal.from)
        return contribution(*goal.from, goal.block);
    std::set<Position> positions;
    for (Position p = 0; p < contract.ranks(); ++p)
        for (Block b = 0; b < contract.blocks(); ++b)
            if (const auto atom = contract.start(p, b); atom && atom->block == goal.block)
                positions.insert(atom->from);
    std::optional<Value> value;
    for (const Position p : positions)
        value = value ? operate(*value, contribution(p, goal.block)) : contribution(p, goal.block);
    return value.value_or(Value{});
}

// What an outcome shows of the contract.
struct Findings {
    bool computed = true;         // every end holds every contribution once
    bool order_preserving = true; // in order of positions
    bool consistent = true;       // the same bits wherever a block ends
};

inline Findings examine(const Schedule &schedule, const Outcome &outcome) {
    Findings findings;
    if (!outcome.fault.empty())
        return {false, false, false};
    std::map<Block, double> bits;
    for (Position p = 0; p < schedule.ranks; ++p)
        for (Block b = 0; b < schedule.blocks(); ++b) {
            const auto goal = schedule.contract.end(p, b);
            if (!goal)
                continue;
            const auto &work = outcome.work[static_cast<std::size_t>(p)];
            const auto found = work.find(b);
            if (found == work.end())
                return {false, false, false};
            const Value &value = found->second, wanted = expected(schedule.contract, *goal);
            findings.computed = findings.computed && value.sum == wanted.sum;
            findings.order_preserving = findings.order_preserving && value.scale == wanted.scale &&
                                        value.shift == wanted.shift;
            if (!goal->from)
                findings.consistent =
                    findings.consistent &&
                    bits.try_emplace(goal->block, value.rounded).first->second == value.rounded;
        }
    return findings;
}

} // namespace stretto::test
