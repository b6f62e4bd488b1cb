// SPDX-License-Identifier: BSD-3-Clause
#include "transport/wait/doorbell.hpp"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/remote/remote_peers.hpp"

namespace stretto::transport {

// Futexes without FUTEX_PRIVATE_FLAG: the word is shared between processes.
static long futex(std::atomic<std::uint32_t> &word, int operation, std::uint32_t value,
                  const timespec *timeout) {
    return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

static long membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

bool register_for_barrier() {
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

// The word has three fields: the number of sleepers, whether they have been rung since the last one
// announced itself, and a number that grows with each ring, so that a word never repeats.
static constexpr std::uint32_t kSleeperIncrement = 1, kSleepersMask = 0x3ff;
static constexpr std::uint32_t kRungFlag = 0x400, kRingIncrement = 0x800;

void Doorbell::announce(Until until) {
    watches_ = until == Until::progress;
    Signals &signals = segment_.header().signals;
    LineBlock &lines = segment_.lines(rank_);
    signals.sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (watches_) {
        lines.watching.fetch_add(1, std::memory_order_relaxed);
        signals.watchers.fetch_add(1, std::memory_order_seq_cst);
    }
    std::atomic<std::uint32_t> &asleep = lines.asleep;
    std::uint32_t word = asleep.load(std::memory_order_relaxed);
    do
        ticket_ = (word + kSleeperIncrement) & ~kRungFlag;
    while (!asleep.compare_exchange_weak(word, ticket_, std::memory_order_seq_cst));
    if (signals.fences.load(std::memory_order_relaxed) == 0)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Doorbell::sleep(std::uint64_t timeout_ns) {
    if (RemotePeers *remote_peers = segment_.remote_peers();
        remote_peers != nullptr && remote_peers->sleep(ticket_, timeout_ns))
        return;
    const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                           static_cast<long>(timeout_ns % 1'000'000'000)};
    LineBlock &lines = segment_.lines(rank_);
    lines.on_futex.fetch_add(1, std::memory_order_seq_cst);
    futex(lines.asleep, FUTEX_WAIT, ticket_, &timeout);
    lines.on_futex.fetch_sub(1, std::memory_order_relaxed);
}

void Doorbell::withdraw() {
    Signals &signals = segment_.header().signals;
    LineBlock &lines = segment_.lines(rank_);
    lines.asleep.fetch_sub(kSleeperIncrement, std::memory_order_relaxed);
    signals.sleepers.fetch_sub(1, std::memory_order_relaxed);
    if (watches_) {
        lines.watching.fetch_sub(1, std::memory_order_relaxed);
        signals.watchers.fetch_sub(1, std::memory_order_relaxed);
    }
}

void Doorbell::ring(std::uint32_t known) {
    RemotePeers *const remote_peers = segment_.remote_peers();
    if (!segment_.here(rank_)) {
        if (remote_peers != nullptr)
            remote_peers->ring(rank_);
        return;
    }
    LineBlock &lines = segment_.lines(rank_);
    std::atomic<std::uint32_t> &asleep = lines.asleep;
    std::uint32_t word = asleep.load(std::memory_order_relaxed);
    do
        if ((word & kSleepersMask) <= known || (word & kRungFlag) != 0)
            return; // awake, or about to wake
    while (!asleep.compare_exchange_weak(word, (word + kRingIncrement) | kRungFlag,
                                         std::memory_order_seq_cst));
    // A sleeper that is counted later finds the word changed.
    if (lines.on_futex.load(std::memory_order_seq_cst) != 0)
        futex(asleep, FUTEX_WAKE, INT_MAX, nullptr);
    if (remote_peers != nullptr)
        remote_peers->wake(rank_);
}

} // namespace stretto::transport
