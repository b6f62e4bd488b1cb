// SPDX-License-Identifier: BSD-3-Clause
// Memory of a rank into which a rank of another host writes the payloads of its cells by itself,
// without a receiver: the latter's two rings as they lie in the former's mirror, in one piece.
//
//     | cells | bulk |      each `ring_bytes` long
//
// A rank's own rings lie in one piece as well, since each is mapped twice (shm/rings.hpp).  That
// piece holds all that devices read in the rings, and is half as long as all four views:
//
//     | cells | cells | bulk | bulk |
//             |    window    |
//
// The byte at position x of a ring lies at x modulo its size, as everywhere.  A place is written
// again only when its readers have taken what was there, as everywhere.  So a window needs no
// credits of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/inline_vector.hpp"
#include "transport/remote/links.hpp"
#include "transport/shm/cell.hpp"

namespace stretto::transport {

struct PutWindow {
    std::byte *first = nullptr; // null: none
    std::size_t ring_bytes = 0; // a power of two

    std::size_t bytes() const { return 2 * ring_bytes; }
};

// Payloads of at least this size are put.  Shorter ones are better in one message with their cell:
// a put needs a flush and a message behind it.
inline constexpr std::size_t kLeastPutBytes = 8192;

inline bool may_be_put(const WireMessage &packet) {
    return packet.kind == WireMessage::cell && packet.length >= kLeastPutBytes;
}

// Whether the payload of a cell has been put, and does not follow.
inline bool is_placed(const WireMessage &packet) {
    return packet.kind == WireMessage::cell && (packet.flags & WireMessage::kPlaced) != 0;
}

// Bytes `from`, ... of a payload, at `at` of the window.
struct PutPiece {
    std::uint64_t at;
    std::size_t from, bytes;
};

// Where the payload lies in the window: in one piece, or in two if it goes round the end of its
// ring.  With rings of 64 KiB, a payload of 10,000 bytes at 60,000 of the bulk
// ring is put to 125,536 (5536 bytes) and 65,536 (4464 bytes).
inline InlineVector<PutPiece, 2> payload_in_window(const WireMessage &cell,
                                                   std::size_t ring_bytes) {
    const bool bulk = (cell.flags & WireMessage::kBulk) != 0;
    const std::uint64_t ring = bulk ? ring_bytes : 0;
    const std::uint64_t place =
        (bulk ? cell.where : cell.position + kCellHeaderBytes) & (ring_bytes - 1);
    const std::size_t before_end = ring_bytes - static_cast<std::size_t>(place);
    if (cell.length <= before_end)
        return {{ring + place, 0, cell.length}};
    return {{ring + place, 0, before_end}, {ring, before_end, cell.length - before_end}};
}
// Where bytes of a rank's own rings, which may lie in any of the views, lie in its window; null if
// they are not in the rings, or go round the end of one.
inline const std::byte *in_own_window(const PutWindow &own, const std::byte *bytes,
                                      std::size_t length) {
    const std::uintptr_t views = reinterpret_cast<std::uintptr_t>(own.first) - own.ring_bytes;
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(bytes) - views; // huge if before
    const std::uintptr_t in_ring = at % own.ring_bytes;
    if (at >= 4 * own.ring_bytes || in_ring + length > own.ring_bytes)
        return nullptr;
    return own.first + (at < 2 * own.ring_bytes ? 0 : own.ring_bytes) + in_ring;
}
// What its reader finds as the cell's `where`.
inline Location location_in_window(const WireMessage &cell, std::size_t ring_bytes) {
    return (cell.flags & WireMessage::kBulk) != 0
               ? Location{Location::In::bulk,
                          static_cast<std::int64_t>(cell.where & (ring_bytes - 1))}
               : Location{Location::In::cell};
}

} // namespace stretto::transport
