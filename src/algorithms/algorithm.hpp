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
#include "schedule/topology.hpp"

namespace stretto::algorithms {

using schedule::Block;
using schedule::Collective;
using schedule::Position;
using schedule::Schedule;
using schedule::Topology;

// Parameters by name.  A value is a number, several numbers for a list (group=2x3), or the index of
// a name (inter=ring).
using Value = std::vector<std::int64_t>;
using Values = std::map<std::string, Value>;
std::string shown(const Value &value); // "4", "2x3"

// What a schedule is generated for.
struct Problem {
    Position ranks = 1;
    Position root = 0; // of rooted collectives
    Values parameters; // those the algorithm declares
    // How many elements each position owns; empty: equal shares.
    std::vector<std::uint64_t> shares;
    Topology topology = {}; // which positions share a host; flat algorithms ignore it
};

struct Parameter {
    std::string_view name;
    std::int64_t fallback; // value when none is given
    std::int64_t least, most;
    std::string_view meaning;
    std::int64_t (*most_at)(Position ranks) = nullptr; // if `most` depends on the number of ranks
    bool list = false; // a list of numbers in these bounds; the default is an empty list
    std::span<const std::string_view> names = {}; // names of the values 0, 1, ...

    std::int64_t most_for(Position ranks) const {
        return most_at == nullptr ? most : std::min(most, most_at(ranks));
    }
};

// Whether a property holds: for this number of ranks with any parameters, or for a problem.
class Property {
public:
    constexpr Property(bool (*of_ranks)(Position ranks)) : of_ranks_(of_ranks) {}
    constexpr Property(bool (*of_problem)(const Problem &problem)) : of_problem_(of_problem) {}

    bool operator()(const Problem &problem) const {
        return of_problem_ == nullptr ? of_ranks_(problem.ranks) : of_problem_(problem);
    }

private:
    bool (*of_ranks_)(Position) = nullptr;
    bool (*of_problem_)(const Problem &) = nullptr;
};

struct Lateness; // lateness.hpp

// An algorithm and what it promises.  A property holds for every number of ranks unless a predicate
// says otherwise.  The verifier derives the properties again, and a test compares.
struct Algorithm {
    std::string_view name; // "ring"
    Collective collective;
    std::string_view summary; // one line
    std::string_view source;  // paper, section or textbook name
    std::vector<Parameter> parameters;
    bool (*runs)(Position ranks); // the numbers of ranks that it can run on
    Property order_preserving;    // operands stay in rank order
    Property consistent;          // the same bits on all ranks
    Property canonical;           // the canonical tree
    Schedule (*make)(const Problem &problem);
    // Reduces in the order of arrival, or selects a path by it: bits may differ from run to run.
    bool by_arrival = false;
    bool unequal_shares = false; // also runs with Problem::shares
    // Why parameters that are each in their bounds do not fit together, or do not fit the number of
    // ranks; "" if they fit.  If it is not set, they always fit.
    std::string (*misfit)(const Problem &problem) = nullptr;
    // Positions are ranks in the order of their arrival, so the algorithm is not chosen if that
    // order is not known.  The properties hold for positions: operands are in the order of arrival
    // at best.
    bool sorted_by_arrival = false;
    // For ranks that are known to arrive at different times, at positions sorted by arrival: the
    // sets of parameters worth trying; none if the algorithm cannot gain anything there.
    std::vector<Values> (*for_arrivals)(const Lateness &expected) = nullptr;
    // Each position passes the vector on to the next, so ranks of a host are best in a row.
    bool in_a_chain = false;
    bool of_hosts = false; // uses Problem::topology: composes algorithms inside and between hosts
};

// Every algorithm of the library, in the order `stretto list` shows them.
std::span<const Algorithm> all();
// Throws Error(argument) that lists the algorithms if there is none of this name.
const Algorithm &find(Collective collective, std::string_view name);

// A name with parameters: "segmented_ring(segments=4)".
struct Choice {
    const Algorithm *algorithm = nullptr;
    Values parameters;
};
// The name without the parameters.
inline std::string_view name_in(std::string_view text) {
    return text.substr(0, text.find('('));
}
// The text in its usual form: parameters in alphabetical order.
std::string to_text(const Choice &choice);
// Throws Error(argument) for an unknown name or parameter, or a value out of range.
Choice parse(Collective collective, std::string_view text);
// Whether the text names this algorithm, with parameters that it has.  Algorithms of several
// collectives may share a name and have different parameters.
bool names(std::string_view text, const Algorithm &algorithm);
// Parameters that the choice does not give have their defaults.
Problem problem_of(const Choice &choice, Position ranks, Position root = 0,
                   std::vector<std::uint64_t> shares = {}, Topology topology = {});
// Why the choice cannot run, in words that follow its name ("cannot run on 6 ranks"); "" if it can
// run.
std::string misfit(const Choice &choice, const Problem &problem);
// Throws Error(unsupported) if the algorithm cannot run at this number of ranks, with these
// parameters there, or with unequal shares; Error(argument) if the topology is known and of another
// number of ranks.  The root is ignored for a collective without a root.
Schedule make(const Choice &choice, Position ranks, Position root = 0,
              std::vector<std::uint64_t> shares = {}, Topology topology = {});

} // namespace stretto::algorithms
