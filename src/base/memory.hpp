// SPDX-License-Identifier: BSD-3-Clause
// Sizes of memory, and how much there is to have.
#pragma once

#include <cstddef>

namespace stretto {

// The least multiple of `unit` that is not below `value`.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Bytes that this process could still take: what the machine has available, and what its control
// group (v2) leaves.  Shared memory is taken page by page and a process that asks for more than
// there is gets killed, so one has to ask first.
std::size_t available_memory();

// Hands freed heap memory back to the system, which the allocator would keep for the next to ask.
// For after what takes tens of megabytes once: a machine may hold hundreds of ranks.
void give_back_freed_memory();

} // namespace stretto
