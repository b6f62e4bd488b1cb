// SPDX-License-Identifier: BSD-3-Clause
// How the blocks of an op are cut into slices for transfer.  The rule is defined here alone: the
// engine lowers schedules by it, and prices count by it.
//
//   most = 64 KiB   blocks   150          20  20  20  0     20
//                   slices   50  50  50   60          none  20
//
// A long block has as few slices as can be, all of one length.  A short block joins the slice
// before it if that has room for the whole block.
#pragma once

#include <cstddef>
#include <limits>

#include "base/memory.hpp"

namespace stretto::schedule {

// The value of `together` for a block that cannot join the slice before it: there is none, or the
// two are no neighbours.
inline constexpr std::size_t kNoJoin = std::numeric_limits<std::size_t>::max();

// How many slices begin in a block of `length` bytes.  0: the block is empty, or it joins the slice
// before it, which then has `together` bytes.
constexpr std::size_t slices_begun(std::size_t length, std::size_t together, std::size_t most) {
    const bool joins = together != kNoJoin && together <= most;
    return length == 0 || joins ? 0 : (length - 1) / most + 1;
}

// The size of each slice of a block except the last: whole cache lines, or whole elements if
// elements do not fill cache lines evenly.
constexpr std::size_t slice_length(std::size_t length, std::size_t most, std::size_t element) {
    constexpr std::size_t kCacheLineBytes = 64;
    const std::size_t slices = slices_begun(length, kNoJoin, most);
    return slices == 0 ? 0
                       : round_up((length - 1) / slices + 1,
                                  kCacheLineBytes % element == 0 ? kCacheLineBytes : element);
}

} // namespace stretto::schedule
