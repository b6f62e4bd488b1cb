// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/fault_guard.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>

#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/lazy.hpp"

namespace stretto::transport {

namespace {

struct Guard {
    sigjmp_buf back;
    const GuardedReads *reads;
    std::uintptr_t page_bytes;
    std::atomic<std::size_t> missing;
};

thread_local Guard *this_threads = nullptr; // null: no guarded work
Lazy<struct sigaction> before;              // the handler that was there
std::atomic<bool> installed{false};

// The kernel names the byte, or the page of it.
std::size_t read_at(const Guard &guard, std::uintptr_t address) {
    const std::uintptr_t mask = ~(guard.page_bytes - 1);
    for (std::size_t k = 0; k < guard.reads->count; ++k) {
        const auto first = reinterpret_cast<std::uintptr_t>(guard.reads->addresses[k]);
        if ((address & mask) >= (first & mask) && address < first + guard.reads->bytes)
            return k;
    }
    return kNoRead;
}

struct sigaction none() {
    struct sigaction action{};
    return action;
}

void on_fault(int signal, siginfo_t *info, void *context) {
    Guard *const guard = this_threads;
    if (guard != nullptr && info->si_code > 0) { // the kernel's, and no kill()
        const std::size_t read = read_at(*guard, reinterpret_cast<std::uintptr_t>(info->si_addr));
        guard->missing.store(read, std::memory_order_relaxed);
        if (read != kNoRead) {
            // As a return from here would: the signal is blocked meanwhile.
            const auto *const interrupted = static_cast<const ucontext_t *>(context);
            (void)pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, nullptr);
            siglongjmp(guard->back, 1);
        }
    }
    // The value is there: this handler was installed after it.
    const struct sigaction &previous = before.get(none);
    if ((previous.sa_flags & SA_SIGINFO) != 0)
        previous.sa_sigaction(signal, info, context);
    else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
        previous.sa_handler(signal);
    else
        (void)::signal(signal, SIG_DFL); // the instruction faults again, now without a handler
}

} // namespace

// Once: a handler that the program installs later, and that calls this one, keeps its place.  If
// two threads come here at the same time, both have the value of `before` before either installs
// it, so the handler never calls itself.
void install_fault_guard() {
    if (installed.load(std::memory_order_acquire))
        return;
    (void)before.get([] {
        struct sigaction now{};
        (void)sigaction(SIGBUS, nullptr, &now);
        return now;
    });
    struct sigaction own{};
    own.sa_sigaction = &on_fault;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&own.sa_mask);
    (void)sigaction(SIGBUS, &own, nullptr);
    installed.store(true, std::memory_order_release);
}

std::size_t run_guarded(const GuardedReads &reads, void (*work)(void *), void *context) {
    Guard guard{.back = {},
                .reads = &reads,
                .page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)),
                .missing = kNoRead};
    // The handler restores the mask of signals: to keep it here would be a system call each time.
    if (sigsetjmp(guard.back, 0) == 0) {
        this_threads = &guard;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        work(context);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    this_threads = nullptr;
    return guard.missing.load(std::memory_order_relaxed);
}

} // namespace stretto::transport
