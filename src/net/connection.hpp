// SPDX-License-Identifier: BSD-3-Clause
// An open connection: frames in both directions, without blocking.  A small frame takes one system
// call on either side.  Payloads are sent from where they are, and received directly into the
// receiver's buffer if it provides one.
//
// Only one thread may use a connection at a time.
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
    std::size_t payload = std::size_t{16}
                          << 20; // the longest payload; a longer one ends the connection
    std::size_t buffer = std::size_t{64} << 10; // of the receive buffer
};

// What a connection has done so far.
struct Traffic {
    std::uint64_t send_calls = 0, receive_calls = 0; // system calls that moved data
    std::uint64_t vain_sends = 0, vain_receives = 0; // system calls that moved none
    std::uint64_t bytes_sent = 0, bytes_received = 0;
    std::uint64_t frames_sent = 0, frames_received = 0;
};

class Connection {
public:
    // `congestion`: TCP's congestion control (net/congestion.hpp).
    Connection(Descriptor socket, Peer peer, const ConnectionLimits &limits = {},
               const std::string &congestion = {});

    int descriptor() const { return socket_.get(); }
    const Peer &peer() const { return peer_; }

    // Queues a frame for the next flush() and returns its number.  The memory of its payload's
    // pieces must not change until frames_sent() has reached that number.  The frame's own length
    // is ignored: that of the pieces counts.
    std::uint64_t queue(const Frame &frame, std::span<const iovec> payload = {}) {
        return writer_.queue(frame, payload);
    }
    std::uint64_t frames_sent() const { return writer_.frames_sent(); }
    std::size_t queued_bytes() const { return writer_.queued_bytes(); }

    // Sends as much as the kernel takes.  False: the connection cannot send any more.  The caller
    // can still receive what the peer sent before; after that, receive() reports the broken
    // connection.
    bool flush();
    // Whether data is left to send, so that the socket must become writable.
    bool wants_to_send() const { return !writer_.empty() && !mute_ && !failure_; }

    // Whether this kernel holds bytes that the peer's kernel has not acknowledged, which may be
    // lost when the connection is closed.  A system call.
    bool unacknowledged() const;

    enum class Received {
        all,    // no more data now
        some,   // there may be more: serve other connections first, then call again
        broken, // no more data will arrive
    };
    // Receives the data that has arrived.  If the receiver throws, the connection is unusable.
    Received receive(FrameReceiver &receiver);

    // Why it is broken; the text names the peer.
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
    bool mute_ = false; // sending is no longer possible
    std::optional<Error> failure_;
};

} // namespace stretto::net
