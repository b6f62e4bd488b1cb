// SPDX-License-Identifier: BSD-3-Clause
// Buffers in the memory of a graphics processor, which the program may pass where its MPI library
// takes them.  Stretto's ranks move data themselves: such a buffer is copied to host memory and
// back.  Each rank does so by itself, so ranks whose buffers lie in different memory agree.
#pragma once

#include <cstddef>

namespace stretto::mpi::device {

// Whether the process may ever have such buffers.
inline bool may_exist = false;

// At MPI_Init.
void look_for_driver();
bool ask_driver(const void *buffer);

inline bool holds(const void *buffer) {
    return may_exist && ask_driver(buffer);
}

// Between any memory and any other; returns when it is done.  Throws Failure.
void copy(void *to, const void *from, std::size_t bytes);

} // namespace stretto::mpi::device
