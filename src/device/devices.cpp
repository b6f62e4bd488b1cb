// SPDX-License-Identifier: BSD-3-Clause
#include "device/devices.hpp"

#include <atomic>

#include "device/cuda.hpp"
#include "device/cuda_executor.hpp"

namespace stretto::device {

static std::atomic<bool> devices_found{false};

void look_for_devices() {
    if (has_devices() || !find_cuda())
        return;
    engine::set_executor(MemoryKind::cuda, &cuda_executor());
    devices_found.store(true, std::memory_order_release);
}

bool has_devices() noexcept {
    return devices_found.load(std::memory_order_relaxed);
}

MemoryKind memory_kind_of(const void *memory) {
    return place_of(memory).on_device ? MemoryKind::cuda : MemoryKind::host;
}

} // namespace stretto::device
