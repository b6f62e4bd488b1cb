// SPDX-License-Identifier: BSD-3-Clause
#include "engine/executor.hpp"

#include <array>

#include "transport/wait/doorbell.hpp"

namespace stretto::engine {

void Bell::ring() {
    const std::lock_guard lock(mutex_);
    if (segment_ != nullptr && transport::anybody_sleeps(segment_->header().signals))
        transport::Doorbell(*segment_, rank_).ring();
}

void Bell::silence() {
    const std::lock_guard lock(mutex_);
    segment_.reset();
}

static std::array<std::atomic<Executor *>, kMemoryKinds> executors;

void set_executor(MemoryKind memory, Executor *executor) {
    executors[static_cast<std::size_t>(memory)].store(executor, std::memory_order_release);
}

Executor *executor_of(MemoryKind memory) {
    return executors[static_cast<std::size_t>(memory)].load(std::memory_order_acquire);
}

} // namespace stretto::engine
