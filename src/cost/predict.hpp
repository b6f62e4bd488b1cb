// SPDX-License-Identifier: BSD-3-Clause
// What a schedule costs in shared memory, predicted from the schedule alone.
//
// Ranks walk through their programs, slice by slice, as soon as what they read has been published:
//
//   publish    a block that is sent is stored once, however many read it; free of its read if it
//              has just been reduced (2 or 1 streams of memory)
//   receive    into scratch: nothing, as whoever uses it reads it where it lies; else 2 streams
//   reduce     n + 1 streams for n operands in one pass; receives that reduce into one place one
//              after another are one pass
//
// A stream costs a time per byte, and a message the latency from one core to another.  With more
// ranks than cores all work shares the cores, and a latency is a round of context switches.
//
// The constants are fitted to the tables of docs/performance.md (2 cores; 2, 4 and 8 ranks; 4 B to
// 64 MiB): all of them are met within a factor of two, most within a fifth.  A prediction is no
// measurement: it ranks algorithms that differ much, and says little about those that do not.
#pragma once

#include <cstddef>

#include "schedule/accounting.hpp"
#include "schedule/schedule.hpp"

namespace stretto::cost {

struct Machine {
    unsigned cores = 1;
    double latency = 0.12e-6;      // seconds until another core sees what was published
    double operand = 0.05e-6;      // of taking one cell
    double turn = 2e-6;            // until a rank has its turn, for each rank of a core
    double cached_byte = 0.011e-9; // of one stream, while the vectors of all ranks fit the caches
    double far_byte = 0.024e-9;    // when they do not
    std::size_t cache = 24u << 20; // bytes, of the vectors in and out of all ranks
};

struct Prediction {
    // Until the last rank is done, if all come at once; infinite if ranks that walk through their
    // programs in order would wait for each other.
    double seconds = 0;
    schedule::Accounting costs;
};

// Of a vector of `count` elements whose blocks travel in pieces of `slice` bytes.
Prediction predict(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
                   std::size_t slice, const Machine &machine);

} // namespace stretto::cost
