// SPDX-License-Identifier: BSD-3-Clause
// Sizes of memory, and how much there is to have.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace stretto {

// The least multiple of `unit` that is not below `value`.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Bytes that this process could still take: the least of what the machine has available and what
// its control groups leave (v1 and v2; page cache, which the kernel drops on demand, counts as
// free).  Nothing if the kernel tells neither.  `root` stands before each path: tests play recorded
// files.
std::optional<std::size_t> available_memory(const std::string &root = "");

// Shared memory is taken page by page and a process that asks for more than there is gets killed,
// so one has to ask first.  True if it is not known.
bool has_room(std::size_t bytes);

// Hands freed heap memory back to the system, which the allocator would keep for the next to ask.
// For after what takes tens of megabytes once: a machine may hold hundreds of ranks.
void give_back_freed_memory();

} // namespace stretto
