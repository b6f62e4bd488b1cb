// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/device_copies.hpp"

#include <algorithm>
#include <new>

#include "base/memory.hpp"

namespace stretto::p2p {

using engine::Executor;

static constexpr std::size_t kPageBytes = 4096; // what a driver registers

void issue_copy(Executor &executor, engine::Completion &completion, void *to, const void *from,
                std::size_t bytes, const std::shared_ptr<engine::Bell> &bell) {
    const engine::Kernel copies;
    completion.rings(executor.longest_nap() == Executor::kNoPolling ? bell : nullptr);
    completion.arm();
    try {
        if (executor.issue({{&to, 1}, {&from, 1}, bytes, copies}, completion) ==
            Executor::Issued::complete)
            completion.complete();
    } catch (...) {
        completion.complete(); // it was not taken
        throw;
    }
}

StagingRing::StagingRing(Executor &executor)
    : executor_(executor), memory_(static_cast<std::byte *>(::operator new(
                               round_up(kRingBytes, kPageBytes), std::align_val_t{kPageBytes}))) {
    try {
        executor_.use_memory(memory_, round_up(kRingBytes, kPageBytes));
    } catch (...) {
        ::operator delete(memory_, std::align_val_t{kPageBytes});
        throw;
    }
}

StagingRing::~StagingRing() {
    executor_.release_memory(memory_);
    ::operator delete(memory_, std::align_val_t{kPageBytes});
}

void StagingRing::issue(Way way, void *memory, std::size_t bytes,
                        const std::shared_ptr<engine::Bell> &bell) {
    std::byte *const slot = at(issued_);
    issue_copy(executor_, copy_of(issued_), way == Way::in ? slot : memory,
               way == Way::in ? memory : slot, bytes, bell);
    issued_ += bytes;
}

bool StagingRing::collect() {
    if (ended_ == issued_)
        return false;
    const engine::Completion &copy = copy_of(ended_);
    if (copy.pending())
        return false;
    if (copy.error())
        throw *copy.error();
    ended_ = std::min(ended_ + kSlotBytes, issued_);
    return true;
}

bool StagingRing::pending() const {
    return std::ranges::any_of(copies_,
                               [](const engine::Completion &copy) { return copy.pending(); });
}

StagingRing *StagingRings::take(Executor &executor) {
    if (const auto found = std::ranges::find(
            free_, &executor, [](const StagingRing *ring) { return &ring->executor(); });
        found != free_.end()) {
        StagingRing *const ring = *found;
        free_.erase(found);
        ring->reset();
        return ring;
    }
    if (rings_.size() == kMostRings)
        return nullptr;
    free_.reserve(kMostRings);
    return rings_.emplace_back(std::make_unique<StagingRing>(executor)).get();
}

void StagingRings::prepare(Executor &executor) {
    if (std::ranges::none_of(rings_,
                             [&](const auto &ring) { return &ring->executor() == &executor; }))
        if (StagingRing *const ring = take(executor); ring != nullptr)
            give_back(*ring);
}

void StagingRings::give_back(StagingRing &ring) noexcept {
    free_.push_back(&ring);
}

} // namespace stretto::p2p
