// SPDX-License-Identifier: BSD-3-Clause
// Which kind of memory a buffer is in.
#pragma once

#include "base/memory_kind.hpp"

namespace stretto::device {

// Looks whether this process may ever have device memory: whether it has loaded a driver, or the
// machine has a device.  Called when a communicator is made.
void look_for_devices();

// Whether it may.  If not, all memory is host memory.
bool may_have_devices() noexcept;

// The kind of memory behind a pointer, by the driver; an executor for it is set then.  Pinned
// memory is host memory: the CPU reads and writes it.  Managed memory is device memory, since only
// the driver's copies are right on every device.  The driver answers in 0.1 us (bench/gpu), so
// nothing is cached, and nothing is to be invalidated when memory is freed.
MemoryKind memory_kind_of(const void *memory);

} // namespace stretto::device
