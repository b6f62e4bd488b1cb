// SPDX-License-Identifier: BSD-3-Clause
// How much memory there is to have.
#pragma once

#include <cstddef>

namespace stretto {

// Bytes that this process could still take: what the machine has available, and what its control
// group (v2) leaves.  Shared memory is taken page by page and a process that asks for more than
// there is gets killed, so one has to ask first.
std::size_t available_memory();

} // namespace stretto
