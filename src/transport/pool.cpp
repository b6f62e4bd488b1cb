// SPDX-License-Identifier: BSD-3-Clause
#include "transport/pool.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <utility>

#include "base/memory.hpp"
#include "base/status.hpp"
#include "transport/cell.hpp"

namespace stretto::transport {

static constexpr std::size_t kHuge = 2u << 20; // pages of which tables are short

Pool::~Pool() {
    for (const auto &[begin, bytes] : maps_)
        munmap(begin, bytes);
}

std::byte *Pool::take(std::size_t bytes) {
    bytes = round_up(bytes + kCellHeader, kLine);
    auto found =
        std::ranges::find_if(free_, [&](const auto &each) { return each.second >= bytes; });
    if (found == free_.end())
        found = grow(bytes);
    const auto [begin, room] = *found;
    used_.emplace(begin, bytes); // before the rest: it may throw
    free_.erase(found);
    if (room > bytes)
        free_.emplace(begin + bytes, room - bytes);
    used_bytes_ += bytes;
    return begin + kCellHeader;
}

void Pool::give(std::byte *payload) {
    const auto extent = used_.find(payload - kCellHeader);
    used_bytes_ -= extent->second;
    add_free(extent->first, extent->second);
    used_.erase(extent);
}

// One with its neighbours.
Pool::Extents::iterator Pool::add_free(std::byte *begin, std::size_t bytes) {
    auto next = free_.lower_bound(begin);
    if (next != free_.begin())
        if (const auto before = std::prev(next); before->first + before->second == begin) {
            begin = before->first;
            bytes += before->second;
            free_.erase(before);
        }
    if (next != free_.end() && begin + bytes == next->first) {
        bytes += next->second;
        next = free_.erase(next);
    }
    return free_.emplace_hint(next, begin, bytes);
}

Pool::Extents::iterator Pool::grow(std::size_t bytes) {
    bytes = round_up(bytes, kHuge);
    void *const memory = bytes > available_memory() ? MAP_FAILED
                                                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw Error(Status::memory, "no memory for what comes from other hosts (" +
                                        std::to_string(bytes >> 10) +
                                        " KiB more); free memory, or lower STRETTO_RING_BYTES");
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    maps_.emplace_back(static_cast<std::byte *>(memory), bytes);
    bytes_ += bytes;
    return add_free(static_cast<std::byte *>(memory), bytes);
}

} // namespace stretto::transport
