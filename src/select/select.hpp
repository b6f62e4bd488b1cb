// SPDX-License-Identifier: BSD-3-Clause
// The choice: which algorithm serves a call, from what all ranks know alike.
#pragma once

#include <cstddef>
#include <string>

#include "schedule/contract.hpp"

namespace stretto::select {

struct Situation {
    schedule::Collective collective = schedule::Collective::allreduce;
    int ranks = 1;
    unsigned cores = 1;    // of the host, for all ranks together
    std::size_t bytes = 0; // of the whole vector
};

// The name of an algorithm, with parameters.
std::string choose(const Situation &situation);

// The piece in which blocks travel, in bytes.
std::size_t slice_bytes(const Situation &situation);

// The publish stream of each rank, in bytes: a power of two.
std::size_t ring_bytes(int ranks);

} // namespace stretto::select
