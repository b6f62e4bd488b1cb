// SPDX-License-Identifier: BSD-3-Clause
#include "transport/doorbell.hpp"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void Doorbell::announce(Reason reason) {
    segment_.header().signals.sleepers.fetch_add(1, std::memory_order_seq_cst);
    segment_.lines(rank_).asleep.store(reason, std::memory_order_seq_cst);
    if (segment_.header().signals.fences.load(std::memory_order_relaxed) == 0)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void Doorbell::sleep(Reason reason, std::uint64_t timeout_ns) {
    const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                           static_cast<long>(timeout_ns % 1'000'000'000)};
    futex(segment_.lines(rank_).asleep, FUTEX_WAIT, reason, &timeout);
}

void Doorbell::withdraw() {
    segment_.lines(rank_).asleep.store(0, std::memory_order_relaxed);
    segment_.header().signals.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Doorbell::ring(Reason reason) {
    std::atomic<std::uint32_t> &asleep = segment_.lines(rank_).asleep;
    if (asleep.load(std::memory_order_relaxed) >= reason &&
        asleep.exchange(0, std::memory_order_acq_rel) != 0)
        futex(asleep, FUTEX_WAKE, INT_MAX, nullptr);
}

} // namespace stretto::transport
