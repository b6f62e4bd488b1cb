// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells a peer that may write cells into its memory.  It travels in a message of the
// link, with the link's token, so no stranger gets it from the rank or can put another in its
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "net/bytes.hpp"

namespace stretto::transport {

struct UcxOffer {
    std::uint64_t first = 0,
                  ring_bytes = 0;   // the window (put_window.hpp), by its owner's addresses
    std::span<const std::byte> key; // by which it may be written, as UCX packs it
};

// | first 8 | ring_bytes 8 | key |
inline constexpr std::size_t kOfferHeadBytes = 16;

inline std::vector<std::byte> written(const UcxOffer &offer) {
    std::vector<std::byte> bytes(kOfferHeadBytes);
    net::put(std::span(bytes), 0, offer.first);
    net::put(std::span(bytes), 8, offer.ring_bytes);
    bytes.insert(bytes.end(), offer.key.begin(), offer.key.end());
    return bytes;
}

// The key is a part of `bytes`.
inline std::optional<UcxOffer> read_offer(std::span<const std::byte> bytes) {
    if (bytes.size() <= kOfferHeadBytes)
        return std::nullopt;
    return UcxOffer{net::get<std::uint64_t>(bytes, 0), net::get<std::uint64_t>(bytes, 8),
                    bytes.subspan(kOfferHeadBytes)};
}

} // namespace stretto::transport
