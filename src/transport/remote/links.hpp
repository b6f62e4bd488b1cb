// SPDX-License-Identifier: BSD-3-Clause
// The links by which a rank sends and receives: one to each rank of another host.  On a link
// everything arrives once and in order, or the link breaks.  Links never block and keep no copies:
// data is sent from the sender's memory when the link has room, and received into the memory that
// the receiver names.  Links are an event source of the rank's event set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/wait/events.hpp"

namespace stretto::transport {

// A packet from one rank to another.
struct WireMessage {
    enum Kind : std::uint8_t {
        cell,     // at `position` of the sender's stream, published by `flag`; its payload follows,
                  // which lies in the cell, or else at `where` of the bulk ring
        want,     // asks the receiver to report when its progress is `position`
        await,    // the same, and the sender waits for it
        progress, // of the sender: `position`
        mail,     // bytes from `position` on of the sender's mailbox to the receiver follow
        read,     // the receiver's mailbox is read up to `position`, and `flag` bytes are released
        failure,  // of the communicator: status `flag`; the message follows
        inquire,  // asks for the state of the receiver's calls
        entries,  // the entries of the sender's calls follow; its progress is `position`
        leave,    // the sender leaves; its progress was `position`
        padding,  // padding follows (LinkedPeers::warm)
    };
    static constexpr std::uint8_t kBulk = 1; // a cell whose payload is in the bulk ring
    static constexpr std::uint8_t kMore = 1; // mail: a frame of it ends in the next packet
    // A cell whose payload does not follow: the sender has written it into this rank's memory
    // (put_window.hpp).
    static constexpr std::uint8_t kPlaced = 2;

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
        // The memory for the bytes that follow; null if this is no valid packet.
        virtual std::byte *place(int from, const WireMessage &message) = 0;
        // The bytes have arrived.
        virtual void arrived(int from, const WireMessage &message) = 0;
        // The link to this rank is broken in both directions.
        virtual void broken(int rank, const std::string &why) = 0;
    };

    virtual ~Links() = default;
    // The location of a rank: "node7, 10.0.0.7".
    virtual std::string place(int rank) const = 0;
    // The packet is sent by the next push(); with `more`, it waits for a later packet to the same
    // rank.  The payload must not change until it is sent.
    virtual void send(int to, const WireMessage &message, const std::byte *payload, bool more) = 0;
    // A longer packet of mail or padding goes in several.
    virtual std::size_t most_mail_bytes() const { return SIZE_MAX; }
    // Whether sends_from() may ever be true.
    virtual bool sends_buffers() const { return false; }
    // Whether a long cell with this payload goes to that rank straight from where the payload lies,
    // read by a device, so that it need not be copied to memory of the links.  Then it is sent at
    // once, and the payload stays until its reader has it, or a failure of the communicator has
    // been sent; from then on the links do not begin to read it.
    virtual bool sends_from(int /*to*/, const std::byte * /*payload*/, std::size_t /*bytes*/) {
        return false;
    }
    // Sends packets; with `all`, also packets that wait for a later one.
    enum class Which { ready, all };
    virtual void push(Which which) = 0;
    // Sends and receives as much as possible: on descriptors that are ready, and on links that
    // report events in memory.  True if anything arrived or broke.
    virtual bool progress(Receiver &receiver, const EventSet::Ready &ready) = 0;
    // Closes the link to `rank`; the receiver knows already.
    virtual void drop(int rank) = 0;
    // Whether every pushed packet is sent.
    virtual bool sent() const = 0;
    // Whether every packet has reached the other host, so that a link that breaks now loses
    // nothing.
    virtual bool delivered() const = 0;
};

} // namespace stretto::transport
