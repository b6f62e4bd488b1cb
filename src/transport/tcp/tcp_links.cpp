// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp_links.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <utility>

namespace stretto::transport {

namespace {

net::Frame frame_of(const Parcel &parcel) {
    return {parcel.kind, parcel.flags, parcel.length, parcel.position, parcel.flag, parcel.where};
}

Parcel parcel_of(const net::Frame &frame) {
    return {frame.kind, frame.flags, frame.length, frame.a, frame.b, frame.c};
}

} // namespace

// Frames of one connection become parcels.
class TcpLinks::Incoming final : public net::FrameReceiver {
public:
    Incoming(int from, Receiver &receiver) : from_(from), receiver_(receiver) {}

    net::Landing begin(const net::Frame &frame) override {
        if (frame.length == 0)
            return {};
        std::byte *place = receiver_.place(from_, parcel_of(frame));
        refused_ = refused_ || place == nullptr;
        return {place == nullptr ? net::Landing::How::pieces : net::Landing::How::memory, place};
    }
    void piece(const net::Frame &, std::size_t, std::span<const std::byte>) override {}
    void end(const net::Frame &frame, std::span<const std::byte>) override {
        if (!refused_)
            receiver_.arrived(from_, parcel_of(frame));
        any_ = true;
    }

    bool refused() const { return refused_; }
    bool any() const { return any_; }

private:
    const int from_;
    Receiver &receiver_;
    bool refused_ = false, any_ = false;
};

TcpLinks::TcpLinks(Poll &poll, std::vector<std::unique_ptr<net::Connection>> connections)
    : poll_(poll) {
    for (std::unique_ptr<net::Connection> &connection : connections) {
        if (connection != nullptr)
            poll_.add(connection->descriptor(), links_.size());
        links_.push_back({std::move(connection)});
    }
}

TcpLinks::~TcpLinks() {
    for (const Link &link : links_)
        if (link.connection != nullptr)
            poll_.remove(link.connection->descriptor());
}

std::string TcpLinks::place(int rank) const {
    return net::place(links_[static_cast<std::size_t>(rank)].connection->peer());
}

void TcpLinks::send(int to, const Parcel &parcel, const std::byte *payload) {
    const auto rank = static_cast<std::uint64_t>(to);
    net::Connection &connection = *link(rank).connection;
    if (link(rank).broken || connection.failure())
        return;
    // The writer does not write through it.
    const iovec piece{const_cast<std::byte *>(payload), parcel.length};
    connection.queue(frame_of(parcel),
                     {&piece, parcel.length == 0 ? std::size_t{0} : std::size_t{1}});
    flush(rank);
}

void TcpLinks::flush(std::uint64_t rank) {
    Link &link = this->link(rank);
    (void)link.connection->flush(); // a failure is found by receiving, after what came before it
    if (const bool writing = link.connection->wants_to_send(); writing != link.writing) {
        link.writing = writing;
        unsent_ += writing ? 1 : -1;
        poll_.set_writing(link.connection->descriptor(), rank, writing);
    }
}

bool TcpLinks::progress(Receiver &receiver, const Poll::Ready &ready) {
    bool any = false;
    for (const epoll_event &event : ready.events()) {
        const std::uint64_t rank = event.data.u64;
        if (rank >= links_.size() || link(rank).broken)
            continue;
        if ((event.events & EPOLLOUT) != 0)
            flush(rank);
        if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0)
            continue;
        Incoming incoming(static_cast<int>(rank), receiver);
        const auto received = link(rank).connection->receive(incoming);
        any = any || incoming.any();
        if (received == net::Connection::Received::broken || incoming.refused())
            any = tell_broken(rank, receiver) || any;
    }
    return any;
}

bool TcpLinks::delivered() const {
    if (unsent_ != 0)
        return false;
    for (const Link &link : links_) {
        int unacknowledged = 0;
        if (link.connection != nullptr && !link.broken &&
            ioctl(link.connection->descriptor(), SIOCOUTQ, &unacknowledged) == 0 &&
            unacknowledged != 0)
            return false;
    }
    return true;
}

// False if it was before.
bool TcpLinks::give_up(std::uint64_t rank) {
    Link &link = this->link(rank);
    if (std::exchange(link.broken, true))
        return false;
    poll_.remove(link.connection->descriptor());
    if (std::exchange(link.writing, false))
        --unsent_;
    return true;
}

bool TcpLinks::tell_broken(std::uint64_t rank, Receiver &receiver) {
    if (!give_up(rank))
        return false;
    const Link &link = this->link(rank);
    const auto &failure = link.connection->failure();
    receiver.broken(static_cast<int>(rank),
                    failure ? failure->what()
                            : in_words(link.connection->peer()) + " sent what is none of ours");
    return true;
}

} // namespace stretto::transport
