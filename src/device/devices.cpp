// SPDX-License-Identifier: BSD-3-Clause
#include "device/devices.hpp"

#include <exception>
#include <unistd.h>

#include "device/cuda.hpp"
#include "device/cuda_executor.hpp"
#include "engine/engine.hpp"

namespace stretto::device {

void look_for_devices() {
    // NVIDIA's devices, on Linux itself and in a guest of Windows.
    if (find_cuda() || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0)
        may_have_devices.store(true, std::memory_order_relaxed);
}

static CudaExecutor &use_executor() {
    if (engine::executor_of(MemoryKind::cuda) == nullptr)
        engine::set_executor(MemoryKind::cuda, &cuda_executor());
    return cuda_executor();
}

void prepare_for_calls(engine::Engine &engine) noexcept {
    try {
        CUcontext context = nullptr;
        if (!find_cuda() || cuda()->current_context(&context) != CUDA_SUCCESS ||
            context == nullptr || cuda_executor().waiting_streams().any())
            return;
        CudaExecutor &executor = use_executor();
        engine.show_memory(executor);
        executor.prepare(context);
    } catch (const std::exception &) { // a call that cannot do without says why
    }
}

MemoryKind ask_for_memory_kind(const void *memory) {
    if (!find_cuda() || !place_of(memory).on_device)
        return MemoryKind::host;
    use_executor();
    return MemoryKind::cuda;
}

} // namespace stretto::device
