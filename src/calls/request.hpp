// SPDX-License-Identifier: BSD-3-Clause
// What callers ask of a communicator, and what it counts of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_kind.hpp"
#include "base/types.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace stretto::reduce {
struct Operation;
}

namespace stretto::calls {

using schedule::Collective;
using schedule::InPlace;

// What a caller asks for.  Sizes are those of stretto.h, but with unequal shares `count` is their
// sum.  `input` null means in place: `output` is the only buffer, also where a result is kept in
// the input (layout.hpp).
struct Request {
    Collective collective = Collective::allreduce;
    const void *input = nullptr;
    void *output = nullptr;
    std::size_t count = 0;
    Dtype dtype = Dtype::f32;
    ReduceOp op = ReduceOp::sum;
    int root = 0; // with unequal shares their mark
    // An operation that the caller made, and its number: no two have the same.
    const reduce::Operation *operation = nullptr;
    std::uint32_t operation_number = 0;
    std::uint32_t shares = 0;             // the id of unequal shares
    MemoryKind memory = MemoryKind::host; // of both buffers, and the same on all ranks
    bool own = false;                     // made by the library: nobody counts it or hears of it
};

// A collective in which each pair of ranks alone knows how much travels between them.
struct Exchange {
    // What lies at `data` and goes to, or comes from, `peer`; not this rank.
    struct Part {
        int peer = 0;
        void *data = nullptr;
        std::size_t bytes = 0;
    };
    Collective collective = Collective::alltoall; // or gather, scatter
    const char *name = "";                        // "alltoallv", for errors
    Dtype dtype = Dtype::f32;
    int root = 0;
    std::vector<Part> sends, receives;
};

struct Stat {
    std::uint64_t calls = 0, bytes = 0;
    double seconds = 0, waiting_seconds = 0;
    std::uint64_t messages = 0, bytes_copied = 0, bytes_reduced = 0;
};
// By collective and algorithm.
using Stats = std::map<std::pair<Collective, std::string>, Stat>;

} // namespace stretto::calls
