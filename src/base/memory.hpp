// SPDX-License-Identifier: BSD-3-Clause
// Sizes of memory, and how much memory is available.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace stretto {

// The least multiple of `unit` that is not below `value`.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Bytes that this process could still take: the smaller of the machine's available memory and the
// room that its control groups leave (v1 and v2).  Page cache counts as free, since the kernel
// drops it on demand.  Nothing if the kernel reports neither.  `root` is put before each path, so
// that tests can use recorded files.
std::optional<std::size_t> available_memory(const std::string &root = "");

// Whether there is room for this many bytes.  The kernel hands out shared memory page by page and
// kills a process that takes more than there is, so callers ask first.  True if it is not known.
bool has_room(std::size_t bytes);

// Returns freed heap memory to the system, which the allocator would keep.  Called after work that
// needs tens of megabytes once, as a machine may hold hundreds of ranks.
void give_back_freed_memory();

} // namespace stretto
