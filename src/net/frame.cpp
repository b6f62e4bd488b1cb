// SPDX-License-Identifier: BSD-3-Clause
#include "net/frame.hpp"

#include "net/bytes.hpp"

namespace stretto::net {

FrameHeader write(const Frame &frame) {
    FrameHeader bytes{};
    put(bytes, 0, frame.kind);
    put(bytes, 1, frame.flags);
    put(bytes, 4, frame.length);
    put(bytes, 8, frame.a);
    put(bytes, 16, frame.b);
    put(bytes, 24, frame.c);
    return bytes;
}

std::optional<Frame> read_frame(std::span<const std::byte, kFrameHeaderBytes> header) {
    if (get<std::uint16_t>(header, 2) != 0)
        return std::nullopt;
    return Frame{get<std::uint8_t>(header, 0),   get<std::uint8_t>(header, 1),
                 get<std::uint32_t>(header, 4),  get<std::uint64_t>(header, 8),
                 get<std::uint64_t>(header, 16), get<std::uint64_t>(header, 24)};
}

} // namespace stretto::net
