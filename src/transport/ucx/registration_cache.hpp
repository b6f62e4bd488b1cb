// SPDX-License-Identifier: BSD-3-Clause
// Registrations of callers' buffers, kept for later calls: to register memory costs the kernel a
// visit to each of its pages, and most programs send from the same buffers again and again.
//
// A registration is of what one put reads, a slice of a call.  So a buffer that is met for the
// first time is registered slice by slice, each while a device still sends the one before it.
//
// Memory that is unmapped and mapped anew has other pages, and a registration of the old ones would
// send the old bytes.  So the cache hears of it before it happens, by UCX's memory hooks, which see
// munmap, mremap, madvise, shmdt, brk and MAP_FIXED wherever a library of the process calls them
// (UCX_MEM_EVENTS, UCX_MEM_MMAP_HOOK_MODE).  A system call that a program makes by itself, past the
// C library, is not seen.
//
// Any thread may use it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "transport/ucx/registered_memory.hpp"

namespace stretto::transport {

class RegistrationCache {
public:
    struct Counts {
        std::uint64_t registrations = 0, hits = 0;
        // Registrations given up: because memory was unmapped, and to stay within the bound.
        std::uint64_t unmapped = 0, evicted = 0;
    };

    // `most_bytes`: of all registrations together.  Throws Error(system) if UCX does not tell of
    // unmapped memory.
    RegistrationCache(std::shared_ptr<const ucp::OwnedContext> context, std::size_t most_bytes);
    ~RegistrationCache();
    RegistrationCache(const RegistrationCache &) = delete;
    RegistrationCache &operator=(const RegistrationCache &) = delete;

    using Registration = std::shared_ptr<const ucp::RegisteredMemory>;
    // Of these bytes; null if there is no room (what is in use stays), or if they cannot be
    // registered.
    Registration take(const std::byte *first, std::size_t bytes);
    // The same, but only what is registered already.  Not counted.
    Registration find(const std::byte *first, std::size_t bytes);

    Counts counts() const;
    std::size_t bytes() const; // of all registrations

private:
    struct Kept {
        Registration registration;
        std::uint64_t used; // when, by number of uses
    };
    using Range = std::pair<std::uintptr_t, std::uintptr_t>; // begin, end
    // Unmapped ranges that are not dealt with yet.  More than these: all registrations go.
    static constexpr std::size_t kMostEntries = 64;

    static Range range_of(const void *first, std::size_t bytes) {
        const auto begin = reinterpret_cast<std::uintptr_t>(first);
        return {begin, begin + bytes};
    }
    static void on_unmapped(int type, const ucp::MemoryEvent *event, void *cache) noexcept;
    void note_unmapped(Range range) noexcept;
    // All below with the lock.
    void forget_unmapped();
    void forget(Range range);
    Kept *kept(Range range);
    bool make_room(std::size_t bytes);

    const std::shared_ptr<const ucp::OwnedContext> context_;
    const std::size_t most_bytes_;
    mutable std::mutex mutex_;
    std::map<Range, Kept> kept_;
    std::size_t bytes_ = 0;
    std::uint64_t uses_ = 0;
    Counts counts_;
    // Written by any thread that unmaps memory, perhaps while it holds the locks of malloc(): so
    // nothing there takes memory or a lock of the cache.
    std::atomic_flag ranges_busy_;
    std::array<Range, kMostEntries> ranges_{};
    std::size_t unmapped_ = 0; // of ranges_; more than kMostEntries: too many
    std::atomic<bool> any_unmapped_{false};
    // Around all that was ever registered: most memory that is unmapped lies outside.
    std::atomic<std::uintptr_t> lowest_{~std::uintptr_t{0}}, highest_{0};
};

} // namespace stretto::transport
