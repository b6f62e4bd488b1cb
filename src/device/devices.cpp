// SPDX-License-Identifier: BSD-3-Clause
#include "device/devices.hpp"

#include <unistd.h>

#include "device/cuda.hpp"
#include "device/cuda_executor.hpp"

namespace stretto::device {

void look_for_devices() {
    // NVIDIA's devices, on Linux itself and in a guest of Windows.
    if (find_cuda() || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0)
        may_have_devices.store(true, std::memory_order_relaxed);
}

MemoryKind ask_for_memory_kind(const void *memory) {
    if (!find_cuda() || !place_of(memory).on_device)
        return MemoryKind::host;
    if (engine::executor_of(MemoryKind::cuda) == nullptr)
        engine::set_executor(MemoryKind::cuda, &cuda_executor());
    return MemoryKind::cuda;
}

} // namespace stretto::device
