// SPDX-License-Identifier: BSD-3-Clause
// Which kind of memory a buffer is in.
#pragma once

#include "base/memory_kind.hpp"

namespace stretto::device {

// Looks whether this process has device memory (find_cuda), and from then on has an executor for
// it.  Called when a communicator is made and when a call is made for the first time, since a look
// takes a microsecond.
void look_for_devices();

// Whether look_for_devices() has found a device.  If not, all memory is host memory.
bool has_devices() noexcept;

// The kind of memory behind a pointer, by the driver.  Pinned memory is host memory: the CPU
// reads and writes it.  Managed memory is device memory, since only the driver's copies are right
// on every device.  The driver answers in 0.1 us (bench/gpu), so nothing is cached, and there is
// nothing to invalidate when memory is freed.
MemoryKind memory_kind_of(const void *memory);

} // namespace stretto::device
