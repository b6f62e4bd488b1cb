// SPDX-License-Identifier: BSD-3-Clause
// Passes that kernels perform, where the buffers are.
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

} // namespace stretto::device
