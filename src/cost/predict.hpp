// SPDX-License-Identifier: BSD-3-Clause
// The time of a schedule in shared memory, predicted from the schedule alone.
//
// Ranks run their programs, slice by slice, as soon as the data that they read are published:
//
//   publish    a block that is sent is stored once for all of its readers (2 streams of memory; 1
//              if it has just been reduced, so it need not be read)
//   receive    into scratch: nothing, since the op that uses the block reads it in place; else 2
//              streams
//   reduce     n + 1 streams for n operands in one pass; receives that reduce into one place one
//              after another are one pass
//
// A stream costs a time per byte, a message the latency from one core to another.  With more ranks
// than cores, all work shares the cores, and a latency is a round of context switches.
//
// The constants are fitted to the tables of docs/performance.md (2 cores; 2, 4 and 8 ranks; 4 B to
// 64 MiB): predictions are within a factor of two of all times, and within a fifth of most.  So
// they rank algorithms that differ much, and say little about algorithms that do not.
#pragma once

#include <cstddef>

#include "schedule/accounting.hpp"
#include "schedule/schedule.hpp"

namespace stretto::cost {

struct Machine {
    unsigned cores = 1;
    double latency = 0.12e-6;      // seconds until another core sees a published cell
    double operand = 0.05e-6;      // seconds to take one cell
    double turn = 2e-6;            // seconds until a rank has its turn, for each rank of a core
    double cached_byte = 0.011e-9; // seconds of one stream, if the vectors of all ranks fit
    double far_byte = 0.024e-9;    // the same if they do not
    std::size_t cache = 24u << 20; // bytes of input and output of all ranks that fit the caches
};

struct Prediction {
    // Until the last rank is done, if all come at once; infinite if ranks that run their programs
    // in order would wait for each other.
    double seconds = 0;
    schedule::Accounting costs;
};

// For a vector of `count` elements whose blocks travel in pieces of `slice` bytes.
Prediction predict(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
                   std::size_t slice, const Machine &machine);

} // namespace stretto::cost
