// SPDX-License-Identifier: BSD-3-Clause
#include "membership/net_links.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "membership/message.hpp"

namespace stretto::membership {

namespace {

constexpr std::uint64_t kFarewellNs = 2'000'000'000; // the longest that drain() waits

} // namespace

// Receives frames; each frame is one message.
class NetLinks::Incoming final : public net::FrameReceiver {
public:
    Incoming(int from, Listener &listener) : from_(from), listener_(listener) {}

    net::Destination begin(const net::Frame &frame) override {
        bytes_.resize(frame.length);
        return {net::Destination::How::memory, bytes_.data()};
    }
    void end(const net::Frame &, std::span<const std::byte>) override {
        listener_.on_bytes(from_, bytes_);
    }

private:
    const int from_;
    Listener &listener_;
    std::vector<std::byte> bytes_;
};

net::ConnectionLimits NetLinks::limits(int ranks) {
    // Room for several messages.  Small, as a rank has one buffer for each other rank.
    constexpr std::size_t kBufferBytes = 4096;
    return {most_bytes(ranks), kBufferBytes};
}

NetLinks::NetLinks(std::vector<std::unique_ptr<net::Connection>> connections)
    : woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!woken_.open())
        throw_errno("cannot make the event of a control agent");
    for (std::unique_ptr<net::Connection> &connection : connections) {
        places_.push_back(connection != nullptr ? net::place(connection->peer()) : "");
        links_.push_back({std::move(connection), {}});
    }
}

std::string NetLinks::place(int rank) const {
    return places_[static_cast<std::size_t>(rank)];
}

void NetLinks::send(int to, std::span<const std::byte> bytes) {
    Link &link = this->link(to);
    if (link.connection == nullptr)
        return; // receive() has called the listener's on_broken()
    Sent &sent = link.unsent.emplace_back(Sent{0, {bytes.begin(), bytes.end()}});
    const iovec piece{sent.bytes.data(), sent.bytes.size()};
    sent.number = link.connection->queue({}, {&piece, 1});
    flush(link);
}

void NetLinks::flush(Link &link) {
    // If this fails, receive() finds the failure, after the messages that arrived before it.
    (void)link.connection->flush();
    while (!link.unsent.empty() && link.unsent.front().number <= link.connection->frames_sent())
        link.unsent.pop_front();
}

void NetLinks::wait(Listener &listener, std::uint64_t nanoseconds) {
    std::vector<pollfd> descriptors{{woken_.get(), POLLIN, 0}};
    for (const Link &link : links_) {
        const bool writes = link.connection != nullptr && link.connection->wants_to_send();
        descriptors.push_back({link.connection != nullptr ? link.connection->descriptor() : -1,
                               static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    }
    constexpr std::uint64_t kMillisecondNs = 1'000'000, kMostMs = 3'600'000;
    const std::uint64_t milliseconds = (nanoseconds + kMillisecondNs - 1) / kMillisecondNs;
    if (poll(descriptors.data(), descriptors.size(),
             static_cast<int>(std::min(milliseconds, kMostMs))) <= 0)
        return;
    if (descriptors[0].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(woken_.get(), &count, sizeof(count));
    }
    for (std::size_t rank = 0; rank < links_.size(); ++rank) {
        const short ready = descriptors[rank + 1].revents;
        if ((ready & POLLOUT) != 0)
            flush(links_[rank]);
        if ((ready & ~POLLOUT) != 0)
            receive(static_cast<int>(rank), listener);
    }
}

void NetLinks::receive(int rank, Listener &listener) {
    Link &link = this->link(rank);
    Incoming incoming(rank, listener);
    if (link.connection->receive(incoming) != net::Connection::Received::broken)
        return;
    const std::string why = link.connection->why();
    link.connection.reset();
    link.unsent.clear();
    listener.on_broken(rank, why);
}

void NetLinks::wake() {
    const std::uint64_t one = 1;
    (void)!::write(woken_.get(), &one, sizeof(one));
}

// Waits until closing the connections would lose nothing.
void NetLinks::drain(const RankSet &ranks) {
    struct IgnoreAll final : Listener {
        void on_bytes(int, std::span<const std::byte>) override {}
        void on_broken(int, std::string_view) override {}
        void on_restored(int) override {}
    } ignore_all;
    const std::uint64_t start = now_ns();
    while (!delivered(ranks) && now_ns() - start < kFarewellNs)
        wait(ignore_all, 1);
}

// Whether the peers' kernels have acknowledged all that was sent to these ranks.
bool NetLinks::delivered(const RankSet &ranks) const {
    for (const int rank : ranks) {
        const Link &link = links_[static_cast<std::size_t>(rank)];
        if (link.connection != nullptr &&
            (link.connection->wants_to_send() || link.connection->unacknowledged()))
            return false;
    }
    return true;
}

} // namespace stretto::membership
