// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/registration_cache.hpp"

#include <algorithm>

#include "base/cpu_pause.hpp"
#include "base/status.hpp"

namespace stretto::transport {

RegistrationCache::RegistrationCache(std::shared_ptr<const ucp::OwnedContext> context,
                                     std::size_t most_bytes)
    : context_(std::move(context)), most_bytes_(most_bytes) {
    context_->library().check(context_->library().memory_events_on(ucp::MemoryEvent::kUnmappedFlag,
                                                                   0, &on_unmapped, this),
                              "tell of memory that is unmapped (UCX_MEM_EVENTS)");
}

RegistrationCache::~RegistrationCache() {
    context_->library().memory_events_off(ucp::MemoryEvent::kUnmappedFlag, &on_unmapped, this);
}

// Called before the memory goes, on the thread that unmaps it.
void RegistrationCache::on_unmapped(int, const ucp::MemoryEvent *event, void *cache) noexcept {
    static_cast<RegistrationCache *>(cache)->note_unmapped(range_of(event->address, event->bytes));
}

void RegistrationCache::note_unmapped(Range range) noexcept {
    if (range.second <= lowest_.load(std::memory_order_relaxed) ||
        range.first >= highest_.load(std::memory_order_relaxed))
        return;
    while (ranges_busy_.test_and_set(std::memory_order_acquire))
        cpu_pause();
    if (unmapped_ < kMostEntries)
        ranges_[unmapped_] = range;
    unmapped_ = std::min(unmapped_ + 1, kMostEntries + 1);
    any_unmapped_.store(true, std::memory_order_release);
    ranges_busy_.clear(std::memory_order_release);
}

void RegistrationCache::forget_unmapped() {
    while (any_unmapped_.load(std::memory_order_acquire)) {
        while (ranges_busy_.test_and_set(std::memory_order_acquire))
            cpu_pause();
        const std::array<Range, kMostEntries> ranges = ranges_;
        const std::size_t unmapped = std::exchange(unmapped_, 0);
        any_unmapped_.store(false, std::memory_order_relaxed);
        ranges_busy_.clear(std::memory_order_release);
        if (unmapped > kMostEntries)
            forget({0, ~std::uintptr_t{0}});
        else
            std::for_each_n(ranges.begin(), unmapped, [&](const Range &each) { forget(each); });
    }
}

// What a put still reads stays registered until the put ends.
void RegistrationCache::forget(Range range) {
    for (auto each = kept_.begin(); each != kept_.end();) {
        const Range own = each->first;
        if (own.first >= range.second || own.second <= range.first) {
            ++each;
            continue;
        }
        bytes_ -= each->second.registration->bytes();
        ++counts_.unmapped;
        each = kept_.erase(each);
    }
}

// The one that begins there, or one of the few that begin just before it and reach as far: slices
// are looked up as they were registered, by calls of one kind.
RegistrationCache::Kept *RegistrationCache::kept(Range range) {
    constexpr int kLooks = 4;
    auto each = kept_.upper_bound({range.first, ~std::uintptr_t{0}});
    for (int look = 0; look < kLooks && each != kept_.begin(); ++look)
        if ((--each)->first.second >= range.second)
            return &each->second;
    return nullptr;
}

// The least recently used go first.
bool RegistrationCache::make_room(std::size_t bytes) {
    while (bytes_ + bytes > most_bytes_) {
        auto oldest = kept_.end();
        for (auto each = kept_.begin(); each != kept_.end(); ++each)
            if (each->second.registration.use_count() == 1 &&
                (oldest == kept_.end() || each->second.used < oldest->second.used))
                oldest = each;
        if (oldest == kept_.end())
            return false;
        bytes_ -= oldest->second.registration->bytes();
        ++counts_.evicted;
        kept_.erase(oldest);
    }
    return true;
}

RegistrationCache::Registration RegistrationCache::take(const std::byte *first, std::size_t bytes) {
    const Range range = range_of(first, bytes);
    const std::lock_guard lock(mutex_);
    forget_unmapped();
    if (Kept *const known = kept(range)) {
        ++counts_.hits;
        known->used = ++uses_;
        return known->registration;
    }
    if (!make_room(bytes))
        return nullptr;
    lowest_.store(std::min(lowest_.load(std::memory_order_relaxed), range.first),
                  std::memory_order_relaxed);
    highest_.store(std::max(highest_.load(std::memory_order_relaxed), range.second),
                   std::memory_order_relaxed);
    try {
        auto made = std::make_shared<const ucp::RegisteredMemory>(
            context_, const_cast<std::byte *>(first), bytes, ucp::MemoryUse::buffer);
        kept_[range] = {made, ++uses_};
        bytes_ += bytes;
        ++counts_.registrations;
        return made;
    } catch (const Error &) { // no such memory, or no more of it may be pinned
        return nullptr;
    }
}

RegistrationCache::Registration RegistrationCache::find(const std::byte *first, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    forget_unmapped();
    Kept *const known = kept(range_of(first, bytes));
    return known != nullptr ? known->registration : nullptr;
}

RegistrationCache::Counts RegistrationCache::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

std::size_t RegistrationCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

} // namespace stretto::transport
