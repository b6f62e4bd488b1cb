// SPDX-License-Identifier: BSD-3-Clause
// The role of a connection, on which its two ranks agree when they open it, and the reasons for
// refusing one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/crypto.hpp"

namespace stretto::net {

// The version of the protocol that is spoken after a connection is opened.  Opening a connection
// does not depend on it, so that two versions can report their mismatch.
inline constexpr std::uint16_t kProtocol = 1;

// The numbers are those on the wire.
enum class ConnectionKind : std::uint8_t { rendezvous = 1, data = 2, control = 3 };
std::string_view name(ConnectionKind kind);

struct ConnectionRole {
    ConnectionKind kind = ConnectionKind::data;
    std::uint16_t channel = 0; // which of several of this kind
    std::uint32_t from = 0;    // the rank that connects
    std::uint32_t to = 0;      // the rank that listens
    std::uint64_t epoch = 0;   // of the job
    std::uint16_t protocol = kProtocol;

    friend bool operator==(const ConnectionRole &, const ConnectionRole &) = default;
};
// "data connection 2 of rank 3 to rank 0".
std::string in_words(const ConnectionRole &purpose);

// What both sides know once a connection is open.
struct Agreement {
    ConnectionRole purpose;
    Key key; // of this connection alone
};

// The answer of the rank that listens.  The numbers are those on the wire.
enum class Verdict : std::uint8_t {
    welcome = 1,
    secret = 2,   // the other side does not know the secret, and learns only that
    protocol = 3, // another version
    rank = 4,     // the wrong rank, or a rank of another job
    epoch = 5,    // not the one that the listener is in
    unwanted = 6, // by the user of the connection: for instance, there is one already
};

// Why a connection has not come about.
enum class Refusal : std::uint8_t {
    stranger,   // what was sent is no packet of a handshake
    reflection, // our own bytes came back
    secret,     // it does not accept our proof, or we do not accept its
    protocol,
    rank,
    epoch,
    unwanted,
    late,        // it did not answer in time
    closed,      // it closed the connection, or broke it off
    crowded,     // it was closed to make room for others
    descriptors, // this process has no descriptors left
    unreachable, // the address could not be reached
};
inline constexpr std::size_t kRefusals = 12;
std::string_view name(Refusal refusal);

// What is known of the other side.  A verdict, and anything that comes with the proof of the
// secret, is authentic.  Everything else may be false.
struct Other {
    ConnectionRole purpose;     // as it was asked for
    std::uint16_t protocol = 0; // of the listener
    std::uint32_t rank = 0;     // of the listener
    std::uint64_t epoch = 0;    // of the listener
    std::string first_bytes;    // the first bytes of an unknown peer, made printable
};

// The end of a sentence whose subject is the peer: "speaks version 2 of the protocol, ...".
std::string told_to_initiator(Refusal refusal, const Other &other);
std::string told_to_responder(Refusal refusal, const Other &other);

} // namespace stretto::net
