// SPDX-License-Identifier: BSD-3-Clause
// The choice: which algorithm runs a call, by facts that are the same on all ranks.
//
// Every algorithm of the collective is a candidate.  A candidate that cannot run the call is
// excluded, with a reason.  In shared memory a measured rule chooses among the others (rules.hpp);
// their costs are predicted only for `stretto explain` (explain.hpp).  Between hosts each candidate
// is priced over the measured network, and the cheapest is chosen (candidates.hpp).
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

// How far results are reproducible.  Values are those of stretto.h.
enum class Reproducible : std::uint8_t {
    off = 0,  // any algorithm
    run = 1,  // the same call gives the same bits in every run: nothing depends on arrival
    full = 2, // and with every algorithm, size and split: the canonical tree
};

std::string_view name(Reproducible mode);
// "off" (also ""), "run" or "full"; throws Error(argument).
Reproducible reproducible_named(std::string_view name);

struct Situation {
    schedule::Collective collective = schedule::Collective::allreduce;
    int ranks = 1;
    unsigned cores = 1;       // for all ranks together, of their host or machine
    std::size_t bytes = 0;    // of the whole vector
    std::size_t element = 4;  // bytes of one element
    bool commutative = true;  // the operation
    bool equal_shares = true; // the parts of all ranks have the same size, or there are no parts
    bool consistent = false;  // all ranks must get the same bits
    Reproducible reproducible = Reproducible::off;
    int root = 0;             // of a collective that has one
    int hosts = 1;            // of all ranks
    bool one_machine = false; // all hosts are containers of one machine, and share `cores`
    // The host of each rank; empty if each rank has a host of its own, or all are on one host.
    std::vector<int> host_of;
    std::size_t ring = 0; // bytes of each rank's ring; 0: as long as ring_bytes() says
    // The last-level cache of each rank, if all ranks are on one host and each is bound to one.
    std::vector<std::int32_t> cache_of;
    Profile profile; // of the network between hosts
};

// Whether all hosts share cores, of which there are fewer than ranks.
bool crowds_one_machine(const Situation &situation);
// Whether ranks are on several hosts, of which some have several ranks.
bool shared_hosts(const Situation &situation);
// Which ranks share a host.
schedule::Topology topology_of(const Situation &situation);
// As algorithms::problem_of and algorithms::make; an algorithm that depends on hosts gets those of
// the situation.
algorithms::Problem problem_of(const algorithms::Choice &choice, const Situation &situation);
schedule::Schedule make(const algorithms::Choice &choice, const Situation &situation);

// Why the algorithm cannot run the call, in words that follow its name ("cannot run on 6 ranks");
// "" if it can.
std::string obstacle(const algorithms::Choice &choice, const Situation &situation);
// The same; also why the library never chooses it ("is for ranks whose arrival is known").
std::string unoffered(const algorithms::Choice &choice, const Situation &situation);

// The algorithms of the collective that the library may choose, in the order of the registry.
std::vector<std::string_view> able(const Situation &situation);

struct Choice {
    std::string algorithm; // a name, with parameters
    std::string why;       // the rule that decided
    bool by_price = false; // not measured yet, so trials may find a better one (trial.hpp)
    // Between hosts: the algorithm itself, then others with a close price, any of which may really
    // be the fastest.
    std::vector<std::string> candidates = {};
};

// Between hosts, sizes of one class have the same choice, that of the largest of them: a caller
// that keeps choices makes eight of them an octave, and not one for each size.
std::size_t size_class(std::size_t bytes);

// Depends only on the situation, so it is the same on all ranks.  Throws Error(unsupported) if no
// algorithm can run the call.
Choice choose(const Situation &situation);

// The candidates of the choice; on one host, those with a close prediction (tuning_candidates.hpp).
std::vector<std::string> tuning_candidates(const Situation &situation);

// "1.23 ms"
std::string time_in_words(double seconds);

// If the algorithm cannot run the call, throws Error(unsupported) that lists the algorithms that
// can.
void require(const algorithms::Choice &choice, const Situation &situation);

// The piece in which blocks travel, in bytes.
std::size_t slice_bytes(const Situation &situation);

// The publish stream of each rank, in bytes: a power of two.
std::size_t ring_bytes(int ranks, int hosts = 1);

} // namespace stretto::select
