// SPDX-License-Identifier: BSD-3-Clause
// The choice: which algorithm runs a call, from what all ranks know alike.
//
// Every algorithm of the collective is a candidate.  What the call needs excludes some, each with
// its reason.  In shared memory a measured rule says which of the others runs it (rules.hpp), and
// what they would cost is predicted only when somebody asks (explain.hpp).  Between hosts each is
// priced over the network as it was measured, and the cheapest is chosen (candidates.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "schedule/contract.hpp"
#include "select/profile.hpp"

namespace stretto::select {

// How far results repeat.  Values are those of stretto.h.
enum class Reproducible : std::uint8_t {
    off = 0,  // any algorithm
    run = 1,  // the same call gives the same bits in every run: nothing depends on arrival
    full = 2, // also whatever the algorithm, the size and the split: the canonical tree
};

std::string_view name(Reproducible mode);
// "off" (also ""), "run" or "full"; throws Error(argument).
Reproducible reproducible_named(std::string_view name);

struct Situation {
    schedule::Collective collective = schedule::Collective::allreduce;
    int ranks = 1;
    unsigned cores = 1;       // of the host, for all ranks together
    std::size_t bytes = 0;    // of the whole vector
    std::size_t element = 4;  // bytes of one
    bool commutative = true;  // the operation
    bool equal_shares = true; // ranks have parts of the same size, or there are none
    bool consistent = false;  // all ranks must get the same bits
    Reproducible reproducible = Reproducible::off;
    int root = 0;  // of a collective that has one
    int hosts = 1; // that the ranks are on
    // Of each rank, where hosts have several; empty: each has a host of its own, or all have one.
    std::vector<int> host_of;
    // The last-level cache of each rank, if all ranks are on one host and each is bound to one.
    std::vector<std::int32_t> cache_of;
    Profile profile; // of the network between hosts
};

// Who shares a host.
schedule::Topology topology_of(const Situation &situation);
// As algorithms::problem_of and algorithms::make, of an algorithm that looks at hosts with those of
// the situation.
algorithms::Problem problem_of(const algorithms::Choice &choice, const Situation &situation);
schedule::Schedule make(const algorithms::Choice &choice, const Situation &situation);

// Why the algorithm cannot run it, in words that follow its name ("cannot run on 6 ranks"); "" if
// it can.
std::string obstacle(const algorithms::Choice &choice, const Situation &situation);
// And why it is not chosen: it may run only for callers who ask for it.
std::string unoffered(const algorithms::Choice &choice, const Situation &situation);

// The algorithms of the collective that are chosen from, in the order of the registry.
std::vector<std::string_view> able(const Situation &situation);

struct Choice {
    std::string algorithm; // a name, with parameters
    std::string why;       // the rule that decided
    bool by_price = false; // which calls that repeat may correct (trial.hpp): not measured yet
};

// The same on all ranks, as it sees nothing but the situation.  Throws Error(unsupported) if no
// algorithm can run the call.
Choice choose(const Situation &situation);

// The choice first, then others whose price is close enough that it may be wrong about them; on one
// host those whose prediction is (tuning_candidates.hpp).
std::vector<std::string> tuning_candidates(const Situation &situation);

// "1.23 ms"
std::string time_in_words(double seconds);

// Throws Error(unsupported) that lists those which can if the algorithm that was asked for cannot.
void require(const algorithms::Choice &choice, const Situation &situation);

// The piece in which blocks travel, in bytes.
std::size_t slice_bytes(const Situation &situation);

// The publish stream of each rank, in bytes: a power of two.
std::size_t ring_bytes(int ranks, int hosts = 1);

} // namespace stretto::select
