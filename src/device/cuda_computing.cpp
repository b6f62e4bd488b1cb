// SPDX-License-Identifier: BSD-3-Clause
// Passes that kernels perform, where the buffers are, those of other ranks among them.
#include <cstdint>
#include <mutex>

#include "device/cuda_executor.hpp"

namespace stretto::device {

// The kernel that performs a pass; null: none does.
CUfunction CudaExecutor::kernel_for(const StagedPass &pass) {
    if (pass.copies_only() || !pass.all_on_device() ||
        !fits_kernel(pass.ins.size() + pass.device_outs.size()))
        return nullptr;
    CudaKernels &kernels = pass.copies->kernels();
    if (kernels.unknown(pass.kernel))
        waiting_streams_.ask_if_none([&] {
            const Current current(driver_, pass.copies->context());
            kernels.load(pass.kernel);
        });
    return kernels.find(pass.kernel);
}

void CudaExecutor::compute(StagedPass &pass) {
    pass.copies->kernels().launch(pass.function, pass.kernel, pass.device_outs, pass.ins,
                                  pass.bytes, pass.copies->stream(CudaCopies::Way::inside));
    pass.event = pass.copies->mark(CudaCopies::Way::inside);
}

std::uint64_t CudaExecutor::share(transport::SharedDevice &mine, const void *memory,
                                  std::size_t bytes, bool idle, std::optional<unsigned> kept) {
    const Place place = place_of(memory);
    if (!place.on_device)
        return 0;
    const std::lock_guard lock(mutex_);
    const CUcontext context = copies_of(place).context();
    const Current current(driver_, context);
    mine.context = reinterpret_cast<std::uintptr_t>(context);
    return shared_.announce(mine) ? shared_.share(mine, memory, bytes, idle, kept) : 0;
}

void *CudaExecutor::find_shared(const transport::SharedDevice &mine,
                                const transport::SharedDevice &its, transport::DevicePlace place) {
    const std::lock_guard lock(mutex_);
    const Current current(driver_, reinterpret_cast<CUcontext>(mine.context));
    return shared_.find(its, place, waiting_streams_);
}

} // namespace stretto::device
