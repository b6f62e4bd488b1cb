// SPDX-License-Identifier: BSD-3-Clause
// Operands of passes that wait for the cells of other ranks are fetched meanwhile.
#include <mutex>
#include <utility>

#include "device/cuda_executor.hpp"

namespace stretto::device {

using Way = CudaCopies::Way;

// Prefetched operands were copied in their order, so the event of the last tells of all.
void CudaExecutor::take_prefetched(StagedPass &pass, std::size_t operand, CudaPrefetch &ahead) {
    pass.ins[operand] = ahead.block.memory;
    pass.prefetched.push_back(std::exchange(ahead.block, {}));
    if (pass.event != nullptr)
        ahead.copies->give_back(pass.event);
    pass.event = std::exchange(ahead.event, nullptr);
    pass.number = ahead.number;
    pass.copies = ahead.copies;
}

// Without it a pass that the cells of other ranks have kept waiting would wait for its own data as
// well: behind all copies that were started meanwhile.
std::unique_ptr<engine::Prefetch> CudaExecutor::prefetch(const void *from, std::size_t bytes) {
    const Place place = place_of(from);
    std::unique_lock lock(mutex_);
    if (!place.on_device)
        return nullptr;
    auto ahead = std::make_unique<CudaPrefetch>(*this);
    try {
        ahead->copies = &copies_of(place);
        const WaitingStreams::Giving giving(waiting_streams_);
        const Current current(driver_, ahead->copies->context());
        ahead->block = ahead_.take_if_pinned(bytes);
        if (ahead->block.memory == nullptr)
            return nullptr;
        ahead->copies->copy(Way::from_device, ahead->block.memory, from, bytes);
        ahead->event = ahead->copies->mark(Way::from_device);
        ahead->number = ++marks_;
        return ahead;
    } catch (const Error &) { // the pass itself will meet it
        lock.unlock();
        if (ahead->copies != nullptr)
            ahead->copies->settle();
        lock.lock();
        ahead_.give_back(ahead->block);
        return nullptr;
    }
}

void CudaExecutor::drop(CudaPrefetch &ahead) noexcept {
    ahead.copies->settle();
    const std::lock_guard lock(mutex_);
    ahead.copies->give_back(ahead.event);
    ahead_.give_back(ahead.block);
}

bool CudaPrefetch::complete() {
    const std::lock_guard lock(executor.mutex_);
    try {
        return event == nullptr || copies->happened(event);
    } catch (const Error &) { // the device reads nothing any more
        return true;
    }
}

CudaPrefetch::~CudaPrefetch() {
    if (event != nullptr)
        executor.drop(*this);
}

} // namespace stretto::device
