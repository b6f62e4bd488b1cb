// SPDX-License-Identifier: BSD-3-Clause
// Passes that kernels perform, where the buffers are, those of other ranks among them.
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <unistd.h>

#include "device/cuda_copies.hpp"
#include "device/cuda_executor.hpp"

namespace stretto::device {

template<class Kernel>
void CudaExecutor::load_if_unknown(CudaKernels &kernels, CUcontext context, const Kernel &kernel) {
    if (kernels.unknown(kernel))
        waiting_streams_.ask_if_none([&] {
            const Current current(driver_, context);
            kernels.load(kernel);
        });
}

// The kernel that performs a pass; null: none does.
CUfunction CudaExecutor::kernel_for(const StagedPass &pass) {
    if (pass.copies_only() || !pass.all_on_device() ||
        !fits_kernel(pass.ins.size() + pass.device_outs.size()))
        return nullptr;
    CudaKernels &kernels = pass.copies->kernels();
    load_if_unknown(kernels, pass.copies->context(), pass.kernel);
    return kernels.find(pass.kernel);
}

// A result that is mapped is stored once before, and copied to its other places after.
void CudaExecutor::compute(StagedPass &pass) {
    constexpr auto kWay = CudaCopies::Way::inside;
    CudaCopies &copies = *pass.copies;
    std::span<void *const> outs = pass.device_outs;
    if (pass.then)
        outs = outs.first(1);
    copies.kernels().launch(pass.function, pass.kernel, outs, pass.ins, pass.bytes,
                            copies.stream(kWay));
    if (pass.then) {
        copies.kernels().launch(*pass.then, outs[0], pass.bytes / size_of(pass.kernel.dtype),
                                copies.stream(kWay));
        for (void *const out : std::span(pass.device_outs).subspan(1))
            copies.copy(kWay, out, outs[0], pass.bytes);
    }
    pass.event = copies.mark(kWay);
}

bool CudaExecutor::reduces_there(const void *memory, const engine::Kernel &kernel,
                                 const reduce::ElementMap *then, std::size_t buffers) noexcept {
    try {
        const Place place = place_of(memory);
        if (!place.on_device || !kernel.reduces || !fits_kernel(buffers))
            return false;
        const std::lock_guard lock(mutex_);
        CudaKernels &kernels = copies_of(place).kernels();
        const CUcontext context = context_of(driver_, place);
        load_if_unknown(kernels, context, kernel);
        if (then != nullptr)
            load_if_unknown(kernels, context, *then);
        return kernels.find(kernel) != nullptr &&
               (then == nullptr || kernels.find(*then) != nullptr);
    } catch (const std::exception &) { // the passes of the call say why
        return false;
    }
}

bool CudaExecutor::maps(const void *memory, const reduce::ElementMap &map) noexcept {
    try {
        const Place place = place_of(memory);
        if (!place.on_device)
            return false;
        const std::lock_guard lock(mutex_);
        CudaKernels &kernels = copies_of(place).kernels();
        load_if_unknown(kernels, context_of(driver_, place), map);
        return kernels.find(map) != nullptr;
    } catch (const std::exception &) { // the copies of the call say why
        return false;
    }
}

std::uint64_t CudaExecutor::share(engine::SharedLists &lists, const void *memory, std::size_t bytes,
                                  bool idle, std::optional<unsigned> kept) {
    const Place place = place_of(memory);
    if (!place.on_device)
        return 0;
    const std::lock_guard lock(mutex_);
    const CUcontext context = copies_of(place).context();
    const Current current(driver_, context);
    return shared_.announce(lists.mine) && shared_.enter(lists.mine, context, idle && !kept)
               ? shared_.share(lists, memory, bytes, idle, kept, waiting_streams_)
               : 0;
}

void CudaExecutor::watch_lists(engine::SharedLists &lists) {
    const std::lock_guard lock(mutex_);
    lists_.push_back(&lists);
}

void CudaExecutor::forget_lists(engine::SharedLists &lists) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(lists_, &lists);
}

// Of all communicators: a call of one may come at a time when no stream waits, and the calls of
// another never.
void CudaExecutor::open_shared() {
    const std::lock_guard lock(mutex_);
    for (engine::SharedLists *const lists : lists_)
        if (lists->mine.context != 0 &&
            lists->mine.opened.load(std::memory_order_relaxed) !=
                lists->listings.load(std::memory_order_relaxed) &&
            alive(driver_,
                  {reinterpret_cast<CUcontext>(lists->mine.context), lists->mine.context_number})) {
            const Current current(driver_, reinterpret_cast<CUcontext>(lists->mine.context));
            shared_.open_listed(*lists, waiting_streams_);
        }
}

// Not with MPS, of which the daemon is there.  If its pipe is elsewhere, the environment says so.
bool CudaExecutor::takes_turns() const {
    return access("/tmp/nvidia-mps/control", F_OK) != 0;
}

Error CudaExecutor::refused(int error) {
    const Error why = cuda_error(driver_, error, "cuIpcOpenMemHandle of another rank's memory");
    return {why.status(),
            std::string(why.what()) + "; STRETTO_CUDA_IPC=off takes the way through the host"};
}

void *CudaExecutor::find_shared(const transport::SharedDevice &mine,
                                const transport::SharedDevice &its, transport::DevicePlace place) {
    const std::lock_guard lock(mutex_);
    const Current current(driver_, reinterpret_cast<CUcontext>(mine.context));
    return shared_.find(its, place);
}

} // namespace stretto::device
