// SPDX-License-Identifier: BSD-3-Clause
// The header of a message of UcxLinks, and the token by which its receiver believes it.
//
// Any process that reaches a worker can send messages to it.  So each direction of each link has a
// token, which only ranks of the job can compute; a message without it is ignored.  Like data over
// TCP, messages are not encrypted: a token is no secret to a process that reads the network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "net/crypto.hpp"
#include "transport/remote/links.hpp"

namespace stretto::transport {

using LinkToken = std::array<std::byte, 16>;

// Of messages from one rank of the communicator with this key to another.
inline LinkToken link_token(const net::Key &job, std::uint64_t epoch, int sender, int receiver) {
    const net::Bytes32 hash = net::KeyedHash(job, "stretto ucx link")
                                  .add(epoch)
                                  .add(static_cast<std::uint64_t>(sender))
                                  .add(static_cast<std::uint64_t>(receiver))
                                  .finish();
    LinkToken token;
    std::memcpy(token.data(), hash.data(), token.size());
    return token;
}

// In constant time: how long it takes says nothing about the token.
inline bool same(const LinkToken &a, const LinkToken &b) {
    std::byte different{};
    for (std::size_t i = 0; i < a.size(); ++i)
        different |= a[i] ^ b[i];
    return different == std::byte{};
}

// Messages of these kinds are no packets.  The hello is the first on each link, and shows that the
// link works.  By an offer, a rank lets the peer write cells into its memory (ucx_offer.hpp), or
// says that it does not; the peer may refuse it.
inline constexpr std::uint8_t kHelloKind = 255, kOfferKind = 254, kRefusalKind = 253;

// As it lies in memory: UCX connects only hosts of one byte order.
struct UcxMessage {
    LinkToken token{};
    std::uint32_t sender = 0; // in the communicator
    std::uint32_t turn = 0;   // its place among messages that keep their order; 0: any
    std::uint64_t position = 0, flag = 0, where = 0;
    std::uint32_t length = 0;
    std::uint8_t kind = 0, flags = 0;
    std::uint16_t unused = 0;

    WireMessage packet() const { return {kind, flags, length, position, flag, where}; }
};
static_assert(sizeof(UcxMessage) == 56);

} // namespace stretto::transport
