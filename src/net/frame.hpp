// SPDX-License-Identifier: BSD-3-Clause
// Frames: the messages on an open connection.  A header of 32 bytes, then the payload.
//
//     | kind 1 | flags 1 | 0 0 | length 4 | a 8 | b 8 | c 8 | payload ... |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stretto::net {

// The user of the connection defines kind, flags, a, b and c.
struct Frame {
    std::uint8_t kind = 0;
    std::uint8_t flags = 0;
    std::uint32_t length = 0; // of the payload, as sent or received
    std::uint64_t a = 0, b = 0, c = 0;

    friend bool operator==(const Frame &, const Frame &) = default;
};

inline constexpr std::size_t kFrameHeaderBytes = 32;
using FrameHeader = std::array<std::byte, kFrameHeaderBytes>;

FrameHeader write(const Frame &frame);
// Nothing if this is no header: its zero bytes are not zero.
std::optional<Frame> read_frame(std::span<const std::byte, kFrameHeaderBytes> header);

} // namespace stretto::net
