// SPDX-License-Identifier: BSD-3-Clause
// The payloads that have arrived from one rank of another host.  Their places in the rings of that
// rank show which ones are no longer needed: a rank does not write a place again before all readers
// have reported that they took what was there.  A full copy of the rings would touch all of their
// memory, though only a small part is in use at a time, and there would be one for each rank that
// sends to this one.  So long payloads are kept in a pool, for as long as they are needed, and the
// mirror holds only cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "transport/remote/links.hpp"
#include "transport/remote/pool.hpp"

namespace stretto::transport {

class RemotePayloads {
public:
    // Payloads of at least this size go to the pool.  For shorter ones, the page of the cell would
    // be touched anyway.
    static constexpr std::size_t kLeastBytes = 8192;

    // Both outlive this.
    RemotePayloads(Pool &pool, std::size_t ring_bytes) : pool_(&pool), ring_bytes_(ring_bytes) {}

    // The memory for the payload of a cell; the same at each call for that cell.  Frees payloads
    // whose places the sender has overwritten, since all readers have taken them.  Throws
    // Error(memory).
    std::byte *place(const WireMessage &packet);
    // The payload of the cell at a position of the sender's stream; null if it is in the ring.
    std::byte *at(std::uint64_t position) const;
    // Everything before that position has been taken.
    void taken(std::uint64_t position);

private:
    struct Live {
        std::uint64_t position; // of its cell
        bool is_bulk;
        std::uint64_t where; // in the bulk ring
        std::size_t length;
        std::byte *memory;
    };

    bool is_over(const Live &live, const WireMessage &packet) const;

    Pool *pool_;
    std::size_t ring_bytes_;
    std::deque<Live> live_; // by position
};

} // namespace stretto::transport
