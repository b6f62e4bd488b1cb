// SPDX-License-Identifier: BSD-3-Clause
// What a rank has of the rings of ranks on other hosts: their cells, in memory of its own.
//
// Long payloads lie beside them (payloads.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "base/descriptor.hpp"
#include "transport/rings.hpp"

namespace stretto::transport {

class Mirror {
public:
    // Of so many ranks of other hosts.  Throws Error if there is no address space.
    Mirror(std::size_t ring_bytes, std::size_t ranks);

    // Only of cells is there memory.
    const Rings &rings() const { return rings_; }

    // Takes the memory for bytes of the cells of one, unless it has been taken: page by page, as
    // who hears of ranks in ever new orders, since they come late by turns, uses little of each.
    // By one thread at a time.  False if there is none.
    bool open(std::size_t place, std::size_t first, std::size_t bytes);

private:
    const std::size_t ring_bytes_, page_;
    std::size_t granted_ = 0; // bytes of memory that there are to take
    const Descriptor file_;
    const Rings rings_;
    std::vector<std::vector<bool>> taken_; // pages, by place
};

} // namespace stretto::transport
