// SPDX-License-Identifier: BSD-3-Clause
// Device memory for the program, of the kind that other ranks of the host can use in place: that of
// cuMemAlloc, which has a handle for other processes.  Memory of pools and of cuMemCreate has none.
#pragma once

#include <cstddef>

namespace stretto::device {

// Of a device by its number, in the context that all of the process share.  Throws Error.
void *allocate(std::size_t bytes, int device);
// Waits for the device, as cudaFree does.  Errors of the driver are not reported: at the end of a
// process its contexts are gone, with all memory.
void deallocate(void *memory) noexcept;

} // namespace stretto::device
