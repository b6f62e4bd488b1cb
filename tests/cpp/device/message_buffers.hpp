// SPDX-License-Identifier: BSD-3-Clause
// Buffers of messages: bytes that depend on both ranks, the message and the place, and memory that
// differs by rank and message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/buffer.hpp"

namespace test {

using Bytes = Buffer<std::uint8_t>;

inline std::uint8_t letter(int source, int dest, int number, std::size_t i) {
    const auto place = static_cast<std::uint32_t>(i);
    std::uint32_t state = static_cast<std::uint32_t>(source * 7919 + dest * 104'729 + number * 31);
    state = (state + place) * 2'654'435'769u + (place >> 8) * 40'503u;
    return static_cast<std::uint8_t>(state >> 24);
}

inline void write(Bytes &buffer, int source, int dest, int number, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        buffer.set(i, letter(source, dest, number, i));
}

// Whether the first `bytes` are the message, and the others up to `room` as they were.
inline bool holds(Bytes &buffer, int source, int dest, int number, std::size_t bytes,
                  std::size_t room) {
    constexpr std::uint8_t kPoison = 0x5a;
    bool right = buffer.guards_hold();
    for (std::size_t i = 0; i < room; ++i)
        right = right && buffer.get(i) == (i < bytes ? letter(source, dest, number, i) : kPoison);
    return right;
}

// Where the buffer of a message is; over some messages, all kinds meet all.
enum class Where { host, shared, device };
inline Where where(int rank, int number) {
    constexpr Where kWhere[] = {Where::device, Where::host, Where::device, Where::shared};
    return kWhere[(number + rank * 2 + number / 4 * (rank + 1)) % 4];
}

} // namespace test
