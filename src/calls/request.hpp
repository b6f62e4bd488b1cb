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

// Elements of the whole vector of such a call of so many ranks.
inline std::size_t vector_count(const Request &request, int ranks) {
    const bool parts = request.shares == 0 && schedule::in_parts(request.collective);
    return parts ? request.count * static_cast<std::size_t>(ranks) : request.count;
}

struct Stat {
    std::uint64_t calls = 0, bytes = 0;
    double seconds = 0, waiting_seconds = 0;
    std::uint64_t messages = 0, bytes_copied = 0, bytes_reduced = 0;
};
// By collective and algorithm.
using Stats = std::map<std::pair<Collective, std::string>, Stat>;

} // namespace stretto::calls
