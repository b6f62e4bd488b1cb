// SPDX-License-Identifier: BSD-3-Clause
// One side of a message: what its caller waits for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "p2p/matcher.hpp"

namespace stretto::p2p {

// Messages of one context never meet those of another.
enum Context : std::uint32_t {
    kUser = 0,
    kCollective = 1, // the tag is the number of the call
};

// What a receive took.
struct Taken {
    int source = 0;
    int tag = 0;
    std::size_t bytes = 0; // of the message, be it longer than the buffer
};

// On behalf of what a message travels.
struct Purpose {
    const char *name = nullptr; // of a collective; null: of the caller's own send or receive
    std::uint64_t call = 0;     // its number
    // Part of a collective, whose two sides must agree on the size; so the sender waits until the
    // receiver has compared.
    bool exact() const { return name != nullptr; }
};

struct Transfer {
    Transfer(const Purpose &why, bool receives) : purpose(why), is_receive(receives) {}
    Transfer(const Transfer &) = delete;
    Transfer &operator=(const Transfer &) = delete;

    // Whether the caller has its buffer back; then `error` says how it went.
    bool ended() const { return complete.load(std::memory_order_acquire); }

    const Purpose purpose;
    const bool is_receive;
    std::atomic<bool> complete{false};
    std::optional<Error> error;
    std::uint64_t moved = 0; // bytes so far, of those that travel piece by piece
    bool unattended = false; // nobody may be waiting for it: the progress thread sees to it
    // If the caller only tests: when it last looked for a failure, and since when no byte has
    // moved.
    std::uint64_t looked = 0, still_since = 0, moved_before = 0;
};

struct Send : Transfer {
    Send(const void *from, std::size_t length, const Envelope &as, int to, const Purpose &why)
        : Transfer(why, false), data(static_cast<const std::byte *>(from)), bytes(length),
          envelope(as), dest(to) {}

    const std::byte *const data;
    const std::size_t bytes;
    const Envelope envelope;
    const int dest;
    std::uint64_t id = 0;                 // while the receiver has yet to answer
    std::uint64_t granted = 0, where = 0; // what the receiver wants, and its name for it
};

struct Receive : Transfer, PostedReceive {
    Receive(void *into, std::size_t length, const Envelope &wanted, const Purpose &why)
        : Transfer(why, true), data(static_cast<std::byte *>(into)), capacity(length) {
        envelope = wanted;
    }

    std::byte *const data;
    const std::size_t capacity;
    bool matched = false;
    Taken taken;               // once matched
    std::uint64_t granted = 0; // bytes to come piece by piece
};

} // namespace stretto::p2p
