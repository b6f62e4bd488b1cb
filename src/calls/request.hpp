// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a call, and the statistics of calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
namespace stretto::engine {
struct Batch;
class Gate;
} // namespace stretto::engine

namespace stretto::calls {

using schedule::Collective;
using schedule::InPlace;

// The counts of a call whose ranks have unequal parts.
struct RankCounts {
    std::uint32_t id = 0;   // known to this rank only, never used again, not 0
    std::uint64_t hash = 0; // of the counts, so equal on ranks with equal counts
    std::vector<std::uint64_t> counts;
};

// The arguments of a call.  Counts are as in stretto.h, but with unequal shares `count` is their
// sum. If `input` is null, the call works in place: `output` is the only buffer, also where the
// result is kept in the input (layout.hpp).
struct Request {
    Collective collective = Collective::allreduce;
    const void *input = nullptr;
    void *output = nullptr;
    std::size_t count = 0;
    Dtype dtype = Dtype::f32;
    ReduceOp op = ReduceOp::sum;
    int root = 0; // with unequal shares: their mark (shares.hpp)
    // An operation that the caller created, and its number, which no other operation has.
    const reduce::Operation *operation = nullptr;
    std::uint32_t operation_number = 0;
    const engine::Batch *batch = nullptr; // of an allreduce; there are no other buffers then
    std::shared_ptr<const RankCounts> shares = nullptr; // null: equal shares
    // Of this rank's buffers: host if the CPU reads and writes both.  Other ranks' may differ.
    MemoryKind memory = MemoryKind::host;
    bool internal = false;                        // made by the library: neither counted nor logged
    bool nonblocking = false;                     // started, and waited for later; so on all ranks
    std::shared_ptr<engine::Gate> gate = nullptr; // of a nonblocking call; null: it begins at once
};

inline std::uint32_t shares_id(const Request &request) {
    return request.shares == nullptr ? 0 : request.shares->id;
}

// Elements of the whole vector of such a call by this number of ranks.
inline std::size_t vector_count(const Request &request, int ranks) {
    const bool parts = request.shares == nullptr && schedule::in_parts(request.collective);
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
