// SPDX-License-Identifier: BSD-3-Clause
// Memory of one rank for payloads, taken and given back in any order.
//
// Memory that a process touches for the first time is cleared by the kernel, which takes longer
// than to fill it from a connection.  So what was given back is taken again before anything new is,
// from the lowest address on: the pool is as large as what was in use at one time.
//
// Source: a pool of buffers in place of ever new ones, as in Ueno & Fukuda, section IV.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace stretto::transport {

class Pool {
public:
    Pool() = default;
    ~Pool();
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    // As far behind a line as payloads are in rings (cell.hpp).  Throws Error(memory).
    std::byte *take(std::size_t bytes);
    // What take() gave.
    void give(std::byte *payload) noexcept;

    // From the system, and of these in use, with what extents are rounded up by.
    std::size_t bytes() const { return bytes_; }
    std::size_t used() const { return used_bytes_; }

private:
    using Extents = std::map<std::byte *, std::size_t>; // begin -> bytes

    Extents::iterator grow(std::size_t bytes);
    Extents::iterator add_free(Extents::node_type extent) noexcept;

    Extents free_, used_; // free ones never touch each other
    std::vector<std::pair<std::byte *, std::size_t>> maps_;
    std::size_t bytes_ = 0, used_bytes_ = 0;
};

} // namespace stretto::transport
