// SPDX-License-Identifier: BSD-3-Clause
// Where what lies in the file of a call log.
#pragma once

#include "arrival/call_log.hpp"

namespace stretto::arrival {

inline constexpr std::uint64_t kMagic = 0x32534c4c41435453; // "STCALLS2"
inline constexpr std::size_t kHeaderBytes = 1024, kLineBytes = 512;
static_assert(sizeof(CallLogHeader) <= kHeaderBytes && sizeof(KindLine) <= kLineBytes);

constexpr std::size_t bytes_of_kind(std::size_t places) {
    return kLineBytes + places * sizeof(KeptCall);
}

} // namespace stretto::arrival
