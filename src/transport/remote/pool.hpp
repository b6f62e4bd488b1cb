// SPDX-License-Identifier: BSD-3-Clause
// Memory of one rank for payloads, taken and given back in any order.
//
// The kernel clears memory that a process touches for the first time, which takes longer than
// filling it from a connection.  So returned memory is used again before new memory, from the
// lowest address on: the pool grows only to the largest amount in use at one time.
// The pool never merges memory of two maps of the system: a user may have registered each with a
// device, which copies from one registration at a time.
//
// Source: buffers are reused from a pool, as in Ueno & Fukuda, section IV.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "transport/memory_user.hpp"

namespace stretto::transport {

class Pool {
public:
    Pool() = default;
    ~Pool();
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    // The memory has the same offset from a cache line as payloads in rings (cell.hpp).  Throws
    // Error(memory).
    std::byte *take(std::size_t bytes);
    // `memory`: a result of take().
    void give(std::byte *payload) noexcept;

    // Takes so much from the system in all, now.  Throws Error(memory).
    void reserve(std::size_t bytes);

    // `user` hears of the memory that the pool has, and of what it takes later.  There may be
    // several users; each outlives the pool or is removed.  Throws std::bad_alloc.
    void add_user(MemoryUser &user);
    void remove_user(MemoryUser &user) noexcept;

    // Bytes taken from the system, and bytes in use, both rounded up to whole extents.
    std::size_t bytes() const { return bytes_; }
    std::size_t used() const { return used_bytes_; }

private:
    using Extents = std::map<std::byte *, std::size_t>; // begin -> bytes

    Extents::iterator grow(std::size_t bytes);
    void release_all(MemoryUser &user) const noexcept;
    Extents::iterator add_free(Extents::node_type extent) noexcept;

    Extents free_, used_; // free ones of one map never touch each other
    Extents maps_;
    std::vector<MemoryUser *> users_;
    std::size_t bytes_ = 0, used_bytes_ = 0;
};

} // namespace stretto::transport
