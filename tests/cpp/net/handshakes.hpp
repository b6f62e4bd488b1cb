// SPDX-License-Identifier: BSD-3-Clause
// Two sides of a handshake, and what travels between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/handshake.hpp"

namespace test {

using stretto::net::Bytes32;
using stretto::net::Handshake;
using stretto::net::Key;

inline Bytes32 filled(int value) {
    Bytes32 bytes;
    bytes.fill(static_cast<std::byte>(value));
    return bytes;
}

using Bytes = std::vector<std::byte>;

// What one side has to say now.
inline Bytes said_by(Handshake &side) {
    const auto out = side.outgoing();
    Bytes bytes(out.begin(), out.end());
    side.sent(bytes.size());
    return bytes;
}

// Gives it to the other; what that does not want any more stays.  Gives how much it took.
inline std::size_t tell(Handshake &side, std::span<const std::byte> bytes,
                        std::size_t at_a_time = SIZE_MAX) {
    std::size_t told = 0;
    while (told < bytes.size() && !side.wanted().empty()) {
        const auto room = side.wanted();
        const std::size_t size = std::min({room.size(), bytes.size() - told, at_a_time});
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(told), size, room.begin());
        side.arrived(size);
        told += size;
    }
    return told;
}

// Lets them talk until neither has anything to say; keeps what each has said.
struct Talk {
    Bytes first, second;
};
inline Talk let_talk(Handshake &first, Handshake &second, std::size_t at_a_time = SIZE_MAX) {
    Talk talk;
    for (;;) {
        const Bytes from_first = said_by(first);
        tell(second, from_first, at_a_time);
        const Bytes from_second = said_by(second);
        tell(first, from_second, at_a_time);
        talk.first.insert(talk.first.end(), from_first.begin(), from_first.end());
        talk.second.insert(talk.second.end(), from_second.begin(), from_second.end());
        if (from_first.empty() && from_second.empty())
            return talk;
    }
}

} // namespace test
