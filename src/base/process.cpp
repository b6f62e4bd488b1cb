// SPDX-License-Identifier: BSD-3-Clause
#include "base/process.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stretto {

namespace {

// One bit for each descriptor.  Descriptors beyond the last bit are closed by exec only.  Most
// pages are never touched.
constexpr std::size_t kDescriptors = std::size_t{1} << 20;
std::array<std::atomic<std::uint64_t>, kDescriptors / 64> kept;
std::atomic<std::size_t> kept_words{0}; // words that hold all bits

constexpr std::size_t kMostLocks = 16;
std::array<std::mutex *, kMostLocks> held;
std::atomic<std::size_t> held_count{0}, held_ready{0};

std::atomic<std::uint32_t> last_mark{0};

// A child begins with its parent's number and counts on from there.
std::atomic<std::uint32_t> spare_mark{0};

thread_local std::size_t locked = 0; // by the thread that forks

void before_fork() {
    locked = held_ready.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < locked; ++i)
        held[i]->lock();
}

void after_fork() {
    for (std::size_t i = locked; i-- > 0;)
        held[i]->unlock();
}

// Runs in the only thread of the child, and calls only functions that a signal handler may call.
void in_child() {
    const int error = errno;
    for (std::size_t word = 0; word < kept_words.load(std::memory_order_relaxed); ++word)
        for (std::uint64_t bits = kept[word].exchange(0, std::memory_order_relaxed); bits != 0;
             bits &= bits - 1)
            close(static_cast<int>(word * 64) + std::countr_zero(bits));
    process_detail::mark->store(0, std::memory_order_relaxed);
    after_fork();
    errno = error;
}

// The kernel clears this page in every child, also in a child that was made without the handlers of
// fork().
std::atomic<std::uint32_t> *mark_page() {
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *const page =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)pthread_atfork(before_fork, after_fork, in_child);
    if (page == MAP_FAILED)
        return &spare_mark;
#if !defined(MADV_WIPEONFORK)
    constexpr int MADV_WIPEONFORK = 18; // older headers
#endif
    (void)madvise(page, bytes, MADV_WIPEONFORK); // Linux 4.14
    return static_cast<std::atomic<std::uint32_t> *>(page);
}

} // namespace

namespace process_detail {

std::atomic<std::uint32_t> *const mark = mark_page();

std::uint32_t new_mark() noexcept {
    const std::uint32_t next = last_mark.load(std::memory_order_relaxed) + 1;
    std::uint32_t none = 0;
    if (!mark->compare_exchange_strong(none, next, std::memory_order_relaxed))
        return none; // of another thread
    last_mark.store(next, std::memory_order_relaxed);
    return next;
}

} // namespace process_detail

Error used_in_child(const std::string &parent, int parent_process) {
    return {Status::unsupported,
            "process " + std::to_string(getpid()) + " was forked from " + parent + " (process " +
                std::to_string(parent_process) +
                "), and is not that rank: only the parent can use its communicators and requests; "
                "pass data to the parent, or start a program of its own (exec, or the start method "
                "\"spawn\" of multiprocessing)"};
}

void close_in_children(int descriptor) noexcept {
    const auto at = static_cast<std::size_t>(descriptor);
    if (descriptor < 0 || at >= kDescriptors)
        return;
    std::size_t words = kept_words.load(std::memory_order_relaxed);
    while (words <= at / 64 &&
           !kept_words.compare_exchange_weak(words, at / 64 + 1, std::memory_order_relaxed)) {
    }
    kept[at / 64].fetch_or(std::uint64_t{1} << at % 64, std::memory_order_relaxed);
}

bool forget_descriptor(int descriptor) noexcept {
    const auto at = static_cast<std::size_t>(descriptor);
    if (descriptor < 0 || at >= kDescriptors)
        return descriptor >= 0;
    const std::uint64_t bit = std::uint64_t{1} << at % 64;
    return (kept[at / 64].fetch_and(~bit, std::memory_order_relaxed) & bit) != 0;
}

void hold_at_fork(std::mutex &mutex) noexcept {
    const std::size_t place = held_count.fetch_add(1, std::memory_order_relaxed);
    if (place >= kMostLocks)
        return;
    held[place] = &mutex;
    for (std::size_t before = place; !held_ready.compare_exchange_weak(
             before, place + 1, std::memory_order_release, std::memory_order_relaxed);)
        before = place;
}

} // namespace stretto
