// SPDX-License-Identifier: BSD-3-Clause
// What an algorithm declares, and the list of all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::algorithms {

using schedule::Block;
using schedule::Collective;
using schedule::Position;
using schedule::Schedule;

// What a schedule is generated for.
struct Problem {
    Position ranks = 1;
    Position root = 0;                              // of rooted collectives
    std::map<std::string, std::int64_t> parameters; // those the algorithm declares
    // Elements that belong to each position, where a vector is cut by owners; empty: equal shares.
    std::vector<std::uint64_t> shares;
};

struct Parameter {
    std::string_view name;
    std::int64_t fallback; // value when none is given
    std::int64_t least, most;
    std::string_view meaning;
    std::int64_t (*most_at)(Position ranks) = nullptr; // where `most` depends on it

    std::int64_t most_for(Position ranks) const {
        return most_at == nullptr ? most : std::min(most, most_at(ranks));
    }
};

// Properties hold for every number of ranks unless a predicate says otherwise; the verifier derives
// them again and a test compares.
struct Algorithm {
    std::string_view name; // "ring"
    Collective collective;
    std::string_view summary; // one line
    std::string_view source;  // paper, section or textbook name
    std::vector<Parameter> parameters;
    bool (*runs)(Position ranks);             // which numbers of ranks it can run
    bool (*order_preserving)(Position ranks); // operands stay in rank order
    bool (*consistent)(Position ranks);       // the same bits on all ranks
    bool (*canonical)(Position ranks);        // the canonical tree
    Schedule (*make)(const Problem &problem);
    // Reduces in the order of arrival, or takes a path by it: bits may differ from run to run.
    bool by_arrival = false;
    bool unequal_shares = false; // runs with Problem::shares too
};

// Every algorithm of the library, in the order `stretto list` shows them.
std::span<const Algorithm> all();
// Throws Error(argument) that lists what there is.
const Algorithm &find(Collective collective, std::string_view name);

// A name with parameters: "segmented_ring(segments=4)".
struct Choice {
    const Algorithm *algorithm = nullptr;
    std::map<std::string, std::int64_t> parameters;
};
// The name without the parameters.
inline std::string_view name_in(std::string_view text) {
    return text.substr(0, text.find('('));
}
// Throws Error(argument) for an unknown name or parameter, or a value out of range.
Choice parse(Collective collective, std::string_view text);
// Throws Error(unsupported) if the algorithm cannot run at this number of ranks, with these
// parameters there, or with unequal shares.  The root of a collective without one means nothing.
Schedule make(const Choice &choice, Position ranks, Position root = 0,
              std::vector<std::uint64_t> shares = {});

} // namespace stretto::algorithms
