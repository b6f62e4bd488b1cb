// SPDX-License-Identifier: BSD-3-Clause
// The proof: runs all positions symbolically, with zero buffering.
//
// A send completes only together with its matching receive; an op starts when every op it is
// ordered after is complete.  That execution is monotone, so if any order of events ends, all do:
// one run proves the contract (every contribution exactly once, in its place), the absence of
// deadlock, unmatched messages, reads before writes and mixed blocks.  With a token, every value is
// run, and the token must have reached a position before its suffixes differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/accounting.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct Verdict {
    bool ok = false;
    std::string failure; // empty if ok; names position, op, peer, block

    // Derived properties, meaningful if ok.  With a token: of all paths together.
    bool order_preserving = false; // operands in order of positions: fit for non-commutative ops
    bool consistent = false;       // all positions end with the same bits
    bool canonical = false;        // every block is the canonical tree of reproducible mode `full`
    std::uint64_t tree = 0;        // hash of the result's expression trees, position 0 upwards
    Accounting accounting;         // of the costliest path
};

Verdict verify(const Schedule &schedule);

// True if both compute the same expression tree for every block of every position at the end.
bool equivalent(const Schedule &a, const Schedule &b);

} // namespace stretto::schedule
