// SPDX-License-Identifier: BSD-3-Clause
// One side of a message: a send or a receive, which its caller waits for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/status.hpp"
#include "engine/notices.hpp"
#include "p2p/device_copies.hpp"
#include "p2p/matching/match_queue.hpp"

namespace stretto::p2p {

// A receive takes messages of its own context only.
enum Context : std::uint32_t {
    kUser = 0,
    kCollective = 1, // the tag is the number of the call
};

// The message that a receive took.
struct Taken {
    int source = 0;
    int tag = 0;
    std::size_t bytes = 0; // of the whole message, also if the buffer was shorter
};

// The call that a message is part of.
struct Purpose {
    const char *name = nullptr; // of a collective; null: of the caller's own send or receive
    std::uint64_t call = 0;     // its number
    // Whether it is part of a collective.  Then both sides must give the same size, and the sender
    // waits until the receiver has compared.
    bool exact() const { return name != nullptr; }
};

struct Ordering;

struct Transfer {
    Transfer(const Purpose &why, bool receives) : purpose(why), is_receive(receives) {}
    Transfer(const Transfer &) = delete;
    Transfer &operator=(const Transfer &) = delete;

    // Whether the caller may use its buffer again; then `error` is final.
    bool ended() const { return complete.load(std::memory_order_acquire); }

    const Purpose purpose;
    const bool is_receive;
    std::atomic<bool> complete{false};
    std::optional<Error> error;
    engine::Notice *notice = nullptr; // null: none is wanted
    std::uint64_t moved = 0;          // bytes that have travelled piece by piece so far
    bool unattended = false;          // maybe no caller waits for it: the progress thread moves it
    bool urgent = false;              // and does not wait for callers
    Ordering *ordering = nullptr;     // null: it has none (ordering.hpp)
    std::size_t place = 0;            // there
    std::uint64_t released_ns = 0;    // when no order has held it back any more; 0: none has
    std::unique_ptr<DeviceCopies> device; // null: the CPU reads and writes the buffer
    bool copied = false;                  // an executor copies for it: the messenger lists it there
    // If the caller only tests: when it last looked for a failure, and since when no byte has
    // moved.
    std::uint64_t looked = 0, still_since = 0, moved_before = 0;
};

struct Send : Transfer {
    Send(const void *from, std::size_t length, const Envelope &as, int to, const Purpose &why)
        : Transfer(why, false), data(static_cast<const std::byte *>(from)), bytes(length),
          envelope(as), dest(to) {}

    const std::byte *data; // `host_copy` if that holds the data
    const std::size_t bytes;
    const Envelope envelope;
    const int dest;
    std::unique_ptr<std::byte[]> host_copy; // null: none is made
    bool held_back = false;                 // until the order of a send has come to that
    std::uint64_t granted = 0, where = 0;   // from the CTS: the wanted bytes, and the receive's id
    bool partly = false;                    // more bytes will be granted
    std::uint64_t ready = 0;                // of the granted bytes: they are in host memory
    bool queued = false;                    // in the queue of messages that have ready bytes
};

struct Receive : Transfer, PostedReceive {
    Receive(void *into, std::size_t length, const Envelope &wanted, const Purpose &why)
        : Transfer(why, true), data(static_cast<std::byte *>(into)), capacity(length) {
        envelope = wanted;
    }

    std::byte *const data;
    const std::size_t capacity;
    bool matched = false;
    Taken taken;                    // once matched
    ArrivedMessage *kept = nullptr; // the matched message, which waits for the receive's order
    std::uint64_t granted = 0;      // bytes to come piece by piece, as far as they were granted
};

inline void free_transfer(Transfer *transfer) {
    if (transfer->is_receive)
        delete static_cast<Receive *>(transfer);
    else
        delete static_cast<Send *>(transfer);
}

} // namespace stretto::p2p
