// SPDX-License-Identifier: BSD-3-Clause
// Passes that kernels perform, where the buffers are, those of other ranks among them.
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <unistd.h>

#include "device/cuda_copies.hpp"
#include "device/cuda_executor.hpp"

namespace stretto::device {

using engine::Kernel;

template<class KernelOrMap>
void CudaExecutor::load_if_unknown(CudaKernels &kernels, CUcontext context,
                                   const KernelOrMap &wanted) {
    if (kernels.unknown(wanted))
        waiting_streams_.ask_if_none([&] {
            const Current current(driver_, context);
            kernels.load(wanted);
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

void CudaExecutor::compute(StagedPass &pass) {
    constexpr auto kWay = CudaCopies::Way::inside;
    CudaCopies &copies = *pass.copies;
    copies.kernels().launch(pass.function, pass.kernel, pass.device_outs, pass.ins, pass.bytes,
                            copies.stream(kWay));
    pass.event = copies.mark(kWay);
}

// A kernel of one operand that copies bytes to any number of places.
static constexpr Kernel kCopyKernel{true, Dtype::u8, ReduceOp::bor, reduce::Rounding::once};

bool CudaExecutor::performs_there(const void *memory, const Kernel &kernel,
                                  const reduce::ElementMap *then, std::size_t buffers) noexcept {
    try {
        const Place place = place_of(memory);
        if (!place.on_device || !fits_kernel(buffers))
            return false;
        const std::lock_guard lock(mutex_);
        CudaKernels &kernels = copies_of(place).kernels();
        const CUcontext context = context_of(driver_, place);
        load_if_unknown(kernels, context, kCopyKernel);
        if (kernel.reduces)
            load_if_unknown(kernels, context, kernel);
        if (then != nullptr)
            load_if_unknown(kernels, context, *then);
        return (!kernel.reduces || kernels.find(kernel) != nullptr) &&
               (then == nullptr || kernels.find(*then) != nullptr);
    } catch (const std::exception &) { // the passes of the call say why
        return false;
    }
}

// Null: they are not all in one context.
CudaCopies *CudaExecutor::copies_of_all(std::span<const void *const> buffers) {
    CUcontext context = nullptr;
    for (const void *const buffer : buffers) {
        const Place place = place_of(buffer);
        if (!place.on_device)
            return nullptr;
        const CUcontext its = context_of(driver_, place);
        if (context != nullptr && its != context)
            return nullptr;
        context = its;
    }
    return context == nullptr ? nullptr : &copies_in(context);
}

// To one place, or without the kernel, by the driver.
static void copy_to_all(CudaCopies &copies, std::span<void *const> outs, const void *from,
                        std::size_t bytes) {
    constexpr auto kWay = CudaCopies::Way::inside;
    CUfunction const function = copies.kernels().find(kCopyKernel);
    if (outs.size() > 1 && function != nullptr)
        copies.kernels().launch(function, kCopyKernel, outs, {&from, 1}, bytes,
                                copies.stream(kWay));
    else
        for (void *const out : outs)
            copies.copy(kWay, out, from, bytes);
}

// A result that is mapped is stored once before, and copied to its other places after.
static void perform(CudaCopies &copies, const engine::PassList &list,
                    const engine::PassList::Pass &pass) {
    if (pass.ins.size() == 1)
        return copy_to_all(copies, pass.outs, pass.ins[0], pass.bytes);
    CudaKernels &kernels = copies.kernels();
    CUstream const stream = copies.stream(CudaCopies::Way::inside);
    const auto outs = list.then == nullptr ? pass.outs : pass.outs.first(1);
    kernels.launch(kernels.find(list.kernel), list.kernel, outs, pass.ins, pass.bytes, stream);
    if (list.then == nullptr)
        return;
    kernels.launch(*list.then, outs[0], pass.bytes / size_of(list.kernel.dtype), stream);
    copy_to_all(copies, pass.outs.subspan(1), outs[0], pass.bytes);
}

engine::Executor::Issued CudaExecutor::issue_all(const engine::PassList &list,
                                                 engine::Completion &completion) {
    std::unique_lock lock(mutex_);
    CudaCopies *const copies = copies_of_all(list.buffers);
    if (copies == nullptr ||
        (list.kernel.reduces && copies->kernels().find(list.kernel) == nullptr))
        return Issued::refused;
    PassPointer taken = empty(completion);
    taken->copies = copies;
    taken->stage = StagedPass::Stage::computing;
    try {
        const WaitingStreams::Giving giving(waiting_streams_);
        const Current current(driver_, copies->context());
        for (const engine::PassList::Pass &pass : list.passes)
            perform(*copies, list, pass);
        taken->event = copies->mark(CudaCopies::Way::inside);
        computing_.push_back(std::move(taken));
    } catch (const Error &why) {
        lock.unlock();
        end(std::move(taken), &why);
    } catch (const std::bad_alloc &) {
        lock.unlock();
        end(std::move(taken), &no_memory_);
    }
    return Issued::pending;
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
               ? shared_.share(lists, memory, bytes, idle, kept, lists_, waiting_streams_)
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
    close_replaced();
    shared_.open_unopened(waiting_streams_);
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

// When no pass is on its way.
void CudaExecutor::close_replaced() {
    if (spare_.size() == passes_ && at_once_ == 0)
        shared_.close_replaced(waiting_streams_);
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

std::optional<transport::DevicePiece> CudaExecutor::piece_of(const void *memory,
                                                             std::size_t bytes) {
    const Place place = place_of(memory);
    if (!place.on_device)
        return std::nullopt;
    const std::lock_guard lock(mutex_);
    const Current current(driver_, context_of(driver_, place));
    return shared_.piece_of(memory, bytes, lists_, waiting_streams_);
}

const void *CudaExecutor::find_piece(const transport::DevicePiece &piece, const void *to) {
    const Place place = place_of(to);
    if (!place.on_device)
        return nullptr;
    const std::lock_guard lock(mutex_);
    close_replaced();
    const Current current(driver_, context_of(driver_, place));
    return shared_.find(piece, waiting_streams_);
}

void *CudaExecutor::find_shared(const transport::SharedDevice &mine,
                                const transport::SharedDevice &its, transport::DevicePlace place) {
    const std::lock_guard lock(mutex_);
    const Current current(driver_, reinterpret_cast<CUcontext>(mine.context));
    return shared_.find(its, place);
}

} // namespace stretto::device
