// SPDX-License-Identifier: BSD-3-Clause
// A rank's own copy of the cell rings of ranks on other hosts.  Long payloads are kept apart
// (payloads.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "base/descriptor.hpp"
#include "transport/shm/rings.hpp"

namespace stretto::transport {

class Mirror {
public:
    // For this many ranks of other hosts.  Throws Error if there is no address space.
    Mirror(std::size_t ring_bytes, std::size_t ranks);

    // Only the cell rings have memory, and bulk rings that are open.
    const Rings &rings() const { return rings_; }

    // Takes memory for these bytes of one rank's cells, unless it has been taken.  It is taken page
    // by page: a rank may hear of many others, for instance because different ranks are late in
    // turn, and use only a little of each ring.  One thread at a time.  False if there is no
    // memory.
    bool open(std::size_t place, std::size_t first, std::size_t bytes);
    // Takes memory for both rings of one rank, all of it, and maps its bulk ring.  False if there
    // is no memory.
    bool open_whole(std::size_t place);
    bool is_whole(std::size_t place) const { return whole_[place]; }

private:
    bool take(std::size_t first, std::size_t bytes) const; // of the file

    const std::size_t ring_bytes_, page_, ranks_;
    std::size_t granted_ = 0; // bytes that may be taken before asking again
    const Descriptor file_;   // the cell rings, then the bulk rings
    const Rings rings_;
    std::vector<std::vector<bool>> taken_; // pages, by place
    std::vector<bool> whole_;              // by place
};

} // namespace stretto::transport
