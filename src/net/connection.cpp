// SPDX-License-Identifier: BSD-3-Clause
#include "net/connection.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <utility>

#include "base/interrupted.hpp"
#include "net/congestion.hpp"
#include "net/sockets.hpp"

namespace stretto::net {

namespace {

// The kernel takes up to 1,024 pieces in a call.  So many small frames never wait together, and the
// list has to be made for each call.
constexpr std::size_t kMostPieces = 128;

// After this many system calls other connections get their turn.
constexpr int kTurnSyscalls = 16;

std::size_t bytes_in(std::span<const iovec> pieces) {
    std::size_t bytes = 0;
    for (const iovec &piece : pieces)
        bytes += piece.iov_len;
    return bytes;
}

bool nothing_now() {
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

// What an errno says about the peer, for errors.
std::string in_words(int error) {
    switch (error) {
    case ECONNRESET:
    case EPIPE: return "its side of the connection is gone: the process has ended or was killed";
    case ETIMEDOUT:
        return "it does not answer any more: its host is down, stopped or cut off from the network";
    default: return std::string("the connection failed: ") + std::strerror(error);
    }
}

} // namespace

std::string in_words(const Peer &peer) {
    return "rank " + std::to_string(peer.rank) + " (" +
           (peer.host.empty() ? "" : peer.host + ", ") + peer.address.text() + ")";
}

std::string place(const Peer &peer) {
    return (peer.host.empty() ? "" : peer.host + ", ") + peer.address.host();
}

Connection::Connection(Descriptor socket, Peer peer, const ConnectionLimits &limits,
                       const std::string &congestion)
    : socket_(std::move(socket)), peer_(std::move(peer)), reader_(limits.payload, limits.buffer) {
    const int flags = fcntl(socket_.get(), F_GETFL);
    if (flags < 0 || fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK) != 0)
        throw_errno("cannot use the connection to " + in_words(peer_));
    send_without_delay(socket_.get());
    choose_congestion(socket_.get(), congestion);
}

void Connection::fail(const std::string &why) {
    if (failure_)
        return;
    why_ = why;
    failure_.emplace(Status::peer, in_words(peer_) + ": " + why);
}

bool Connection::unacknowledged() const {
    int bytes = 0;
    return ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 && bytes != 0;
}

bool Connection::flush() {
    std::array<iovec, kMostPieces> pieces;
    while (wants_to_send()) {
        msghdr message{};
        message.msg_iov = pieces.data();
        const std::size_t count = writer_.gather(pieces);
        message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
        const std::size_t asked = bytes_in(std::span(pieces).first(count));
        const ssize_t taken = uninterrupted(
            [&] { return sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
        if (taken < 0) {
            ++traffic_.vain_sends;
            if (!nothing_now()) {
                mute_ = true;
                mute_reason_ = in_words(errno);
            }
            break;
        }
        ++traffic_.send_calls;
        traffic_.bytes_sent += static_cast<std::uint64_t>(taken);
        writer_.written(static_cast<std::size_t>(taken));
        if (static_cast<std::size_t>(taken) < asked)
            break; // the kernel's buffer is full
    }
    return !mute_ && !failure_;
}

Connection::Received Connection::receive(FrameReceiver &receiver) {
    for (int call = 0; call < kTurnSyscalls; ++call) {
        if (failure_)
            return Received::broken;
        const std::span<const iovec> room = reader_.room();
        msghdr message{};
        message.msg_iov = const_cast<iovec *>(room.data());
        message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(room.size());
        const ssize_t come =
            uninterrupted([&] { return recvmsg(socket_.get(), &message, MSG_DONTWAIT); });
        if (come < 0 && nothing_now()) {
            ++traffic_.vain_receives;
            return Received::all;
        }
        if (come <= 0) {
            ++traffic_.vain_receives;
            fail(mute_      ? mute_reason_
                 : come < 0 ? in_words(errno)
                            : std::string("it closed the connection") +
                                  (reader_.between_frames() ? "" : " in the middle of a frame"));
            return Received::broken;
        }
        ++traffic_.receive_calls;
        traffic_.bytes_received += static_cast<std::uint64_t>(come);
        const std::size_t asked = bytes_in(room);
        if (const std::string wrong = reader_.arrived(static_cast<std::size_t>(come), receiver);
            !wrong.empty()) {
            fail("it " + wrong + "; install the same Stretto on all hosts");
            return Received::broken;
        }
        if (static_cast<std::size_t>(come) < asked)
            return Received::all; // another call would find little or nothing
    }
    return Received::some;
}

Traffic Connection::traffic() const {
    Traffic result = traffic_;
    result.frames_sent = writer_.frames_sent();
    result.frames_received = reader_.frames();
    return result;
}

} // namespace stretto::net
