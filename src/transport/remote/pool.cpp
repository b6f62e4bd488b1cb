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
    users_.push_back(&user);
    for (auto map = maps_.begin(); map != maps_.end(); ++map) {
        try {
            user.use_memory(map->first, map->second);
        } catch (...) {
            while (map != maps_.begin())
                user.release_memory((--map)->first);
            users_.pop_back();
            throw;
        }
    }
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

// All of them, or none.
void Pool::tell_users(std::byte *memory, std::size_t bytes) {
    for (auto user = users_.begin(); user != users_.end(); ++user) {
        try {
            (*user)->use_memory(memory, bytes);
        } catch (...) {
            while (user != users_.begin())
                (*--user)->release_memory(memory);
            throw;
        }
    }
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
        tell_users(begin, bytes);
    } catch (...) {
        maps_.erase(begin);
        munmap(memory, bytes);
        throw;
    }
    bytes_ += bytes;
    return add_free(added.extract(begin));
}

} // namespace stretto::transport
