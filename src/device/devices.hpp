// SPDX-License-Identifier: BSD-3-Clause
// Which kind of memory a buffer is in.
#pragma once

#include <atomic>

#include "base/memory_kind.hpp"

namespace stretto::engine {
class Engine;
}

namespace stretto::device {

// Whether this process may ever have device memory.  If not, all memory is host memory.
inline std::atomic<bool> may_have_devices{false};

// Sets it, if the process has loaded a driver or the machine has a device.  Called when a
// communicator is made.
void look_for_devices();

// If a CUDA context is current, asks the driver now for all that calls with its memory need.  So
// the first of these calls takes no longer than the others.  If none is current, or if the driver
// refuses, the first call asks.
void prepare_for_calls(engine::Engine &engine) noexcept;

// Asks the driver.
MemoryKind ask_for_memory_kind(const void *memory);

// The kind of memory behind a pointer, by the driver; an executor for it is set then.  Pinned
// memory is host memory: the CPU reads and writes it.  Managed memory is device memory, since only
// the driver's copies are right on every device.  The driver answers in 0.1 us (bench/gpu), so
// nothing is cached, and nothing is to be invalidated when memory is freed.
inline MemoryKind memory_kind_of(const void *memory) {
    if (!may_have_devices.load(std::memory_order_relaxed)) [[likely]]
        return MemoryKind::host;
    return ask_for_memory_kind(memory);
}

} // namespace stretto::device
