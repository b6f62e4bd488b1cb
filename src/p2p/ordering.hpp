// SPDX-License-Identifier: BSD-3-Clause
// Messages in an order that the messenger does not know, such as that of a stream of the program
// (engine/gate.hpp).
//
// They match like all others, in the order in which the program began them.  It is their data that
// wait:
//
// - A receive is posted at once.  It keeps the message that it has matched until the gate is open.
// - A send waits, and holds back later ones that the same receives could take: those to the same
//   rank with the same context and tag.
// - When the gate is open, the data of some sends are set aside first: those of short messages from
//   a device, which then travel as from host memory, and those whose buffer the call overwrites.
// - When all messages have ended, the gate is told.
//
// No thread need wait for them, so whichever thread moves messages looks for failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "base/memory_kind.hpp"
#include "engine/gate.hpp"
#include "p2p/transfer.hpp"

namespace stretto::p2p {

// A message that is to be begun in an order, as one of its two ranks knows it.
struct Message {
    bool receives = false;
    void *data = nullptr;
    std::size_t bytes = 0;
    MemoryKind memory = MemoryKind::host;
    int peer = kAny, tag = kAny;
    std::uint32_t context = kUser;
    Purpose purpose = {};
    bool aside = false; // a send whose buffer another message of its call is received into
};

// Some messages with one gate.
struct Ordering {
    enum class State : std::uint8_t { prepared, closed, setting_aside, open };

    Ordering() = default;
    ~Ordering() {
        if (state == State::prepared)
            for (Transfer *transfer : transfers)
                free_transfer(transfer);
    }
    Ordering(const Ordering &) = delete;
    Ordering &operator=(const Ordering &) = delete;
    // From now on none of them waits for the order.
    void release(std::uint64_t now) {
        for (Transfer *transfer : transfers)
            if (transfer != nullptr)
                transfer->released_ns = now;
    }

    State state = State::prepared;          // until they are begun, the transfers belong to it
    std::vector<Transfer *> transfers = {}; // null: it has ended
    std::shared_ptr<engine::Gate> gate = nullptr; // null: it has been told that all have ended
    std::uint64_t gate_place = 0;                 // among all gates (engine::Gate::place)
    std::size_t unended = 0;
    std::size_t unset = 0; // sends whose data are yet to be set aside
    // When it was last seen that a byte had moved.
    std::uint64_t still_since_ns = 0, moved_before = 0;
};

// Sends that the same receives could take.
using Likeness = std::tuple<int, std::uint32_t, int>; // receiver, context, tag
inline Likeness likeness(const Send &send) {
    return {send.dest, send.envelope.context, send.envelope.tag};
}

// Whether the order of a message has not come to it.
inline bool waits_for_order(const Transfer &transfer) {
    return transfer.ordering != nullptr && transfer.ordering->state != Ordering::State::open;
}

// Whether it waits only for an order of this rank: its own, or that of one that holds it back.
inline bool waits_here(const Transfer &transfer) {
    using State = Ordering::State;
    const State state = transfer.ordering == nullptr ? State::open : transfer.ordering->state;
    return state == State::closed || (state == State::open && !transfer.is_receive &&
                                      static_cast<const Send &>(transfer).held_back);
}

// Throws Error if what comes after a message in its order has gone on without its end.
inline void require_wait(const Transfer &transfer) {
    if (transfer.ordering != nullptr && transfer.ordering->gate != nullptr) [[unlikely]]
        transfer.ordering->gate->require_wait();
}

} // namespace stretto::p2p
