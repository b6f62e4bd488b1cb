// SPDX-License-Identifier: BSD-3-Clause
// What a carrier sends and receives by: a link to each rank of another host.
//
// On a link everything arrives once and in order, or the link is broken.  Links never block and
// keep no copies: what is sent is taken from the sender's memory when the link has room, and what
// comes is put where the receiver wants it.  They are a source of the carrier's event set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/wait/events.hpp"

namespace stretto::transport {

// What one rank brings to another.
struct WireMessage {
    enum Kind : std::uint8_t {
        cell,     // at `position` of the sender's stream, published by `flag`; its payload follows,
                  // which lies in the cell, or else at `where` of the bulk ring
        want,     // tell me when your progress is `position`
        await,    // the same, and I wait for it
        progress, // of the sender: `position`
        mail,     // bytes from `position` on of the sender's mailbox to the receiver follow
        read,     // the receiver's mailbox is read up to `position`, and `flag` bytes are released
        failure,  // of the communicator: status `flag`; the message follows
        inquire,  // what are you at?
        entries,  // what the sender has said of its calls follows; its progress is `position`
        leave,    // the sender takes part no more; its progress was `position`
        padding,  // bytes that mean nothing follow (Carrier::warm)
    };
    static constexpr std::uint8_t kBulk = 1; // a cell whose payload lies beside it
    static constexpr std::uint8_t kMore = 1; // mail: a frame of it ends in the next message

    std::uint8_t kind = cell;
    std::uint8_t flags = 0;
    std::uint32_t length = 0; // bytes that follow
    std::uint64_t position = 0, flag = 0, where = 0;
};

class Links {
public:
    class Receiver {
    public:
        virtual ~Receiver() = default;
        // Where the bytes that follow shall go; null if this can be no message of ours.
        virtual std::byte *place(int from, const WireMessage &message) = 0;
        // They are there.
        virtual void arrived(int from, const WireMessage &message) = 0;
        // Nothing comes from this rank any more, nor goes there.
        virtual void broken(int rank, const std::string &why) = 0;
    };

    virtual ~Links() = default;
    // Where a rank is: "node7, 10.0.0.7".
    virtual std::string place(int rank) const = 0;
    // The message goes with the next push(); with `more`, not before one that is sent after it to
    // the same rank.  The payload must stay as it is until it is sent.
    virtual void send(int to, const WireMessage &message, const std::byte *payload, bool more) = 0;
    // All of them: also what has more behind it.
    enum class Which { ready, all };
    virtual void push(Which which) = 0;
    // Sends and receives what can be: where the descriptors are ready, and by what links that tell
    // in memory find there.  True if anything arrived or broke.
    virtual bool progress(Receiver &receiver, const EventSet::Ready &ready) = 0;
    // Nothing passes between this rank and `rank` any more; the receiver knows.
    virtual void drop(int rank) = 0;
    // Whether every message that was pushed is sent.
    virtual bool sent() const = 0;
    // Whether every message is on the other host, and links that break now lose nothing.
    virtual bool delivered() const = 0;
};

} // namespace stretto::transport
