// SPDX-License-Identifier: BSD-3-Clause
// Copies and maps that have ended when their function returns: the work of a call before its first
// step and after its last.
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "device/cuda_executor.hpp"

namespace stretto::device {

// Returns when the work that is started here has ended.
void CudaExecutor::perform_now(std::unique_lock<std::mutex> &lock, CudaCopies &copies,
                               CudaCopies::Way way,
                               const std::function<void(CudaCopies &)> &start) {
    CUevent event = nullptr;
    ++at_once_;
    try {
        {
            const WaitingStreams::Giving giving(waiting_streams_);
            const Current current(driver_, copies.context());
            start(copies);
            event = copies.mark(way);
        }
        while (!copies.happened(event)) {
            lock.unlock();
            std::this_thread::yield();
            lock.lock();
        }
    } catch (const Error &) {
        if (lock.owns_lock())
            lock.unlock();
        copies.settle(); // the caller has its memory back
        lock.lock();
        --at_once_;
        if (event != nullptr)
            copies.give_back(event);
        throw;
    }
    --at_once_;
    copies.give_back(event);
}

void CudaExecutor::copy(void *to, const void *from, std::size_t bytes) {
    const Place source = place_of(from), target = place_of(to);
    if (!source.on_device && !target.on_device) {
        std::memcpy(to, from, bytes);
        return;
    }
    if (bytes == 0)
        return;
    const auto way = source.on_device ? CudaCopies::Way::from_device : CudaCopies::Way::to_device;
    std::unique_lock lock(mutex_);
    perform_now(lock, copies_of(source.on_device ? source : target), way,
                [&](CudaCopies &copies) { copies.copy(way, to, from, bytes); });
}

void CudaExecutor::map(void *memory, std::size_t count, const reduce::ElementMap &map) {
    constexpr auto kWay = CudaCopies::Way::inside;
    std::unique_lock lock(mutex_);
    perform_now(lock, copies_of(place_of(memory)), kWay, [&](CudaCopies &copies) {
        copies.kernels().launch(map, memory, count, copies.stream(kWay));
    });
}

} // namespace stretto::device
