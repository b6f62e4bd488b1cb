// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/pool.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <utility>

#include "base/memory.hpp"
#include "base/status.hpp"
#include "transport/shm/cell.hpp"

namespace stretto::transport {

static constexpr std::size_t kPageBytes = 2u << 20; // huge pages, which need few page tables

// Acts on each element; undoes what it has done if that throws.
template<class Range, class Act, class Undo>
static void all_or_none(Range &range, Act &&act, Undo &&undo) {
    for (auto each = range.begin(); each != range.end(); ++each) {
        try {
            act(*each);
        } catch (...) {
            while (each != range.begin())
                undo(*--each);
            throw;
        }
    }
}

Pool::~Pool() {
    for (MemoryUser *const user : users_)
        release_all(*user);
    for (const auto &[begin, bytes] : maps_)
        munmap(begin, bytes);
}

void Pool::release_all(MemoryUser &user) const noexcept {
    for (const auto &[begin, bytes] : maps_)
        user.release_memory(begin);
}

void Pool::add_user(MemoryUser &user) {
    users_.reserve(users_.size() + 1);
    all_or_none(
        maps_, [&](const auto &map) { user.use_memory(map.first, map.second); },
        [&](const auto &map) { user.release_memory(map.first); });
    users_.push_back(&user);
}

void Pool::remove_user(MemoryUser &user) noexcept {
    if (std::erase(users_, &user) != 0)
        release_all(user);
}

std::byte *Pool::take(std::size_t bytes) {
    bytes = round_up(bytes + kCellHeaderBytes, kLineBytes);
    auto found =
        std::ranges::find_if(free_, [&](const auto &each) { return each.second >= bytes; });
    if (found == free_.end())
        found = grow(bytes);
    std::byte *const begin = found->first;
    used_.emplace(begin, bytes); // everything that may throw comes first
    Extents::node_type rest = free_.extract(found);
    if (rest.mapped() > bytes) {
        rest.key() += bytes;
        rest.mapped() -= bytes;
        free_.insert(std::move(rest));
    }
    used_bytes_ += bytes;
    return begin + kCellHeaderBytes;
}

void Pool::give(std::byte *payload) noexcept {
    Extents::node_type extent = used_.extract(payload - kCellHeaderBytes);
    used_bytes_ -= extent.mapped();
    add_free(std::move(extent));
}

// Merges an extent with its neighbours of the same map.
Pool::Extents::iterator Pool::add_free(Extents::node_type extent) noexcept {
    auto next = free_.lower_bound(extent.key());
    if (next != free_.begin() && !maps_.contains(extent.key()))
        if (const auto before = std::prev(next); before->first + before->second == extent.key()) {
            extent.key() = before->first;
            extent.mapped() += before->second;
            free_.erase(before);
        }
    if (next != free_.end() && extent.key() + extent.mapped() == next->first &&
        !maps_.contains(next->first)) {
        extent.mapped() += next->second;
        next = free_.erase(next);
    }
    return free_.insert(next, std::move(extent));
}

void Pool::reserve(std::size_t bytes) {
    if (bytes_ < bytes)
        grow(bytes - bytes_);
}

Pool::Extents::iterator Pool::grow(std::size_t bytes) {
    bytes = round_up(bytes, kPageBytes);
    void *const memory = !has_room(bytes) ? MAP_FAILED
                                          : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw Error(Status::memory, "no memory for data from other hosts (" +
                                        std::to_string(bytes >> 10) +
                                        " KiB more); free memory, or lower STRETTO_RING_BYTES");
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    const auto begin = static_cast<std::byte *>(memory);
    Extents added;
    try {
        added.emplace(begin, bytes);
        maps_.emplace(begin, bytes);
        all_or_none(
            users_, [&](MemoryUser *user) { user->use_memory(begin, bytes); },
            [&](MemoryUser *user) { user->release_memory(begin); });
    } catch (...) {
        maps_.erase(begin);
        munmap(memory, bytes);
        throw;
    }
    bytes_ += bytes;
    return add_free(added.extract(begin));
}

} // namespace stretto::transport
