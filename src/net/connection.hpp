// SPDX-License-Identifier: BSD-3-Clause
// A connection that is open: frames in both directions, without blocking.  A small frame takes one
// system call on either side; payloads are sent from where they are and, if their user has a place
// for them, received right there.
//
// Not for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/uio.h>

#include "base/descriptor.hpp"
#include "base/status.hpp"
#include "net/address.hpp"
#include "net/frame.hpp"
#include "net/frame_reader.hpp"
#include "net/frame_writer.hpp"

namespace stretto::net {

// The other side, for messages.
struct Peer {
    std::uint32_t rank = 0;
    std::string host; // "" if it is not known
    Address address;
};
// "rank 3 (node7, 10.0.0.7:41234)".
std::string in_words(const Peer &peer);
// "node7, 10.0.0.7".
std::string place(const Peer &peer);

struct ConnectionLimits {
    std::size_t payload = std::size_t{16} << 20; // the longest; what is longer ends the connection
    std::size_t buffer = std::size_t{64} << 10;  // for what comes in
};

// What a connection has done so far.
struct Traffic {
    std::uint64_t send_calls = 0, receive_calls = 0; // of the system, that moved something
    std::uint64_t vain_sends = 0, vain_receives = 0; // that did not
    std::uint64_t bytes_sent = 0, bytes_received = 0;
    std::uint64_t frames_sent = 0, frames_received = 0;
};

class Connection {
public:
    Connection(Descriptor socket, Peer peer, const ConnectionLimits &limits = {});

    int descriptor() const { return socket_.get(); }
    const Peer &peer() const { return peer_; }

    // Queues a frame, to go with the next flush().  Gives its number: what the pieces of its
    // payload lie in must stay as it is until frames_sent() has reached that.  The frame's own
    // length is not looked at, only that of the pieces.
    std::uint64_t queue(const Frame &frame, std::span<const iovec> payload = {}) {
        return writer_.queue(frame, payload);
    }
    std::uint64_t frames_sent() const { return writer_.frames_sent(); }
    std::size_t queued_bytes() const { return writer_.queued_bytes(); }

    // Sends what the kernel takes.  False: nothing can be sent any more.  What the peer has sent
    // before is still to be received, and then that the connection is broken.
    bool flush();
    // Whether something is left, for which the socket must become writable.
    bool wants_to_send() const { return !writer_.empty() && !mute_ && !failure_; }

    enum class Received {
        all,    // there is nothing more now
        some,   // there may be more: others first, then call again
        broken, // nothing will come any more
    };
    // Takes in what has come.  What the receiver throws leaves the connection unusable.
    Received receive(FrameReceiver &receiver);

    // Why it is broken; it says who the peer is.
    const std::optional<Error> &failure() const { return failure_; }
    const std::string &why() const { return why_; } // the same without the peer
    Traffic traffic() const;

private:
    void fail(const std::string &why);

    Descriptor socket_;
    Peer peer_;
    FrameWriter writer_;
    FrameReader reader_;
    Traffic traffic_;
    std::string mute_reason_, why_;
    bool mute_ = false; // nothing can be sent any more
    std::optional<Error> failure_;
};

} // namespace stretto::net
