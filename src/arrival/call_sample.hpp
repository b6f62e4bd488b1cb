// SPDX-License-Identifier: BSD-3-Clause
// Which calls of many are kept, in memory that does not grow: every one at first; whenever there is
// no room left, every other one of them makes room, and only half as many are kept from then on.
//
// It is a function of the call's number alone.  So ranks that make the same calls keep the same
// ones, without a message, and of a call that is kept it is known when each of them came.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto::arrival {

// A call that was kept.  Whoever reads it may do so at any time, also after the rank has died in
// the middle of a store: it is a true account of that call, or of none.
struct KeptCall {
    std::atomic<std::uint64_t> number;     // 1 + that of the call; 0: none
    std::atomic<std::uint64_t> begin, end; // nanoseconds of the rank's clock; end 0: not over
    std::atomic<std::int64_t> offset;      // to add for the job's clock, or kUnknown

    void put(std::uint64_t call, std::uint64_t began, std::uint64_t ended, std::int64_t apart);
};

class CallSample {
public:
    // An even number of places, zero at first.
    explicit CallSample(std::span<KeptCall> places) : places_(places) {}

    // Calls come in the order of their numbers, from 0 on, and none is left out.  Its place, of
    // which the end is still to be told; null if the call is not kept.
    KeptCall *begin(std::uint64_t call, std::uint64_t now, std::int64_t offset);
    // One call of so many is kept: a power of two.
    std::uint64_t stride() const { return stride_; }

private:
    void thin();

    const std::span<KeptCall> places_;
    std::size_t used_ = 0;
    std::uint64_t stride_ = 1;
};

} // namespace stretto::arrival
