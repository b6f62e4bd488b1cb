// SPDX-License-Identifier: BSD-3-Clause
// A call in one word: other ranks compare it with theirs, and errors describe the call by it.
//
//     collective 5 bits | op 5 | nonblocking 1 | reproducible 2 | by pairs 1 | of a file 1 |
//     as ranks arrive 1 | dtype 14 | refused 1 | free 1 | root 32
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "calls/request.hpp"

namespace stretto::calls {

inline constexpr int kOpShift = 5, kNonblockingShift = 10, kReproducibleShift = 11,
                     kDtypeShift = 16, kRefusedShift = 30, kRootShift = 32;
inline constexpr std::uint64_t kNonblockingFlag = 1u << kNonblockingShift, kByPairsFlag = 1u << 13,
                               kOfFileFlag = 1u << 14, kAsRanksArriveFlag = 1u << 15,
                               kRefusedFlag = 1u << kRefusedShift;
static_assert(kRecordBase + kLargestRecordBytes < 1 << (kRefusedShift - kDtypeShift));

inline std::uint64_t pack(const Request &request) {
    return static_cast<std::uint64_t>(request.collective) |
           static_cast<std::uint64_t>(request.op) << kOpShift |
           static_cast<std::uint64_t>(request.nonblocking) << kNonblockingShift |
           static_cast<std::uint64_t>(request.dtype) << kDtypeShift |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(request.root)) << kRootShift;
}
constexpr Collective collective_in(std::uint64_t what) {
    return static_cast<Collective>(what & 0x1f);
}
constexpr ReduceOp op_in(std::uint64_t what) {
    return static_cast<ReduceOp>(what >> kOpShift & 0x1f);
}
constexpr Dtype dtype_in(std::uint64_t what) {
    return static_cast<Dtype>(what >> kDtypeShift & 0x3fff);
}

} // namespace stretto::calls
