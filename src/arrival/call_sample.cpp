// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/call_sample.hpp"

namespace stretto::arrival {

// The number goes first and comes last.
void KeptCall::put(std::uint64_t call, std::uint64_t began, std::uint64_t ended,
                   std::int64_t apart) {
    number.store(0, std::memory_order_release);
    begin.store(began, std::memory_order_release);
    end.store(ended, std::memory_order_release);
    offset.store(apart, std::memory_order_release);
    number.store(call + 1, std::memory_order_release);
}

KeptCall *CallSample::begin(std::uint64_t call, std::uint64_t now, std::int64_t offset) {
    if ((call & (stride_ - 1)) != 0)
        return nullptr;
    // An even number of places is full: the call's number is a multiple of twice the stride.
    if (used_ == places_.size())
        thin();
    KeptCall &place = places_[used_++];
    place.put(call, now, 0, offset);
    return &place;
}

// What is behind stays as it is until it is overwritten: nothing there is wrong, but it is there
// twice, or one that the stride leaves out.
void CallSample::thin() {
    used_ /= 2;
    stride_ *= 2;
    for (std::size_t i = 1; i < used_; ++i) {
        const KeptCall &kept = places_[2 * i];
        places_[i].put(kept.number.load(std::memory_order_relaxed) - 1,
                       kept.begin.load(std::memory_order_relaxed),
                       kept.end.load(std::memory_order_relaxed),
                       kept.offset.load(std::memory_order_relaxed));
    }
}

} // namespace stretto::arrival
