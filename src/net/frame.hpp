// SPDX-License-Identifier: BSD-3-Clause
// Frames: what travels over a connection that is open.  A header of 32 bytes, then the payload.
//
//     | kind 1 | flags 1 | 0 0 | length 4 | a 8 | b 8 | c 8 | payload ... |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stretto::net {

// What kind, flags, a, b and c mean is the business of those who use the connection.
struct Frame {
    std::uint8_t kind = 0;
    std::uint8_t flags = 0;
    std::uint32_t length = 0; // of the payload; by which it is sent, or has come
    std::uint64_t a = 0, b = 0, c = 0;

    friend bool operator==(const Frame &, const Frame &) = default;
};

inline constexpr std::size_t kFrameHeaderBytes = 32;
using FrameHeader = std::array<std::byte, kFrameHeaderBytes>;

FrameHeader write(const Frame &frame);
// Nothing, if that is no header: what is zero in ours is not.
std::optional<Frame> read_frame(std::span<const std::byte, kFrameHeaderBytes> header);

} // namespace stretto::net
