// SPDX-License-Identifier: BSD-3-Clause
// Where payloads lie that have come from one rank of another host.
//
// Their places in the rings of that rank say which of them are over: a rank writes no place again
// before all who read it have said that they took what was there.  But who keeps a copy of rings
// that are walked through in turn touches all of their memory for a small part of it at a time; of
// as many rings as there are ranks that it has heard of.  So long payloads lie in a pool, for as
// long as they have to, and only their cells in the mirror.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "transport/links.hpp"
#include "transport/pool.hpp"

namespace stretto::transport {

class RemotePayloads {
public:
    // Bytes from which it is worth it: of less, the cell's page is much of what is touched.
    static constexpr std::size_t kLeastBytes = 8192;

    // Both outlive this.
    RemotePayloads(Pool &pool, std::size_t ring_bytes) : pool_(&pool), ring_bytes_(ring_bytes) {}

    // For that of a cell, the same each time it is asked for.  Gives back what the sender would not
    // have written over unless it had been taken.  Throws Error(memory).
    std::byte *place(const WireMessage &packet);
    // That of the cell at a position of the sender's stream; null if it lies in the ring.
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
