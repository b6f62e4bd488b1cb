// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/tcp_links.hpp"

#include <algorithm>
#include <utility>

namespace stretto::transport {

namespace {

net::Frame frame_of(const WireMessage &packet) {
    return {packet.kind, packet.flags, packet.length, packet.position, packet.flag, packet.where};
}

WireMessage parcel_of(const net::Frame &frame) {
    return {frame.kind, frame.flags, frame.length, frame.a, frame.b, frame.c};
}

} // namespace

// Frames of one connection become packets.
class TcpLinks::Incoming final : public net::FrameReceiver {
public:
    Incoming(int from, Receiver &receiver) : from_(from), receiver_(receiver) {}

    net::Destination begin(const net::Frame &frame) override {
        if (frame.length == 0)
            return {};
        std::byte *place = receiver_.place(from_, parcel_of(frame));
        refused_ = refused_ || place == nullptr;
        return {place == nullptr ? net::Destination::How::pieces : net::Destination::How::memory,
                place};
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

TcpLinks::TcpLinks(EventSet &events,
                   std::vector<std::vector<std::unique_ptr<net::Connection>>> channels)
    : events_(events), source_(events.add(*this)), links_(channels.front().size()) {
    for (std::size_t channel = 0; channel < channels.size(); ++channel)
        for (std::size_t rank = 0; rank < links_.size(); ++rank)
            if (std::unique_ptr<net::Connection> &connection = channels[channel][rank]) {
                events_.watch(source_, connection->descriptor(), tag(rank, channel));
                links_[rank].channels.push_back({std::move(connection)});
            }
    given_.reserve(channels.size() * links_.size()); // sending takes no memory
}

TcpLinks::~TcpLinks() {
    for (const Link &link : links_)
        for (const Channel &channel : link.channels)
            events_.unwatch(channel.connection->descriptor());
}

std::string TcpLinks::place(int rank) const {
    const Link &link = links_[static_cast<std::size_t>(rank)];
    return net::place(link.channels.front().connection->peer());
}

std::size_t TcpLinks::channel_for(const Link &link, const WireMessage &packet) const {
    const bool is_long =
        packet.kind == WireMessage::cell && (packet.flags & WireMessage::kBulk) != 0;
    if (!is_long && packet.kind != WireMessage::padding)
        return 0;
    const auto load = [](const Channel &channel) {
        return std::pair(channel.connection->queued_bytes(), channel.bytes);
    };
    const auto least =
        std::min_element(link.channels.begin(), link.channels.end(),
                         [&](const Channel &a, const Channel &b) { return load(a) < load(b); });
    return static_cast<std::size_t>(least - link.channels.begin());
}

void TcpLinks::send(int to, const WireMessage &packet, const std::byte *payload, bool more) {
    const auto rank = static_cast<std::size_t>(to);
    Link &link = links_[rank];
    const std::size_t channel = channel_for(link, packet);
    net::Connection &connection = *link.channels[channel].connection;
    if (link.broken || connection.failure())
        return;
    link.channels[channel].bytes += packet.length;
    // The writer does not write through it.
    const iovec piece{const_cast<std::byte *>(payload), packet.length};
    connection.queue(frame_of(packet),
                     {&piece, packet.length == 0 ? std::size_t{0} : std::size_t{1}});
    using Given = Channel::Given;
    Given &given = link.channels[channel].given;
    if (given == Given::nothing)
        given_.emplace_back(rank, channel);
    given = std::max(given, more ? Given::part : Given::ready);
}

void TcpLinks::push(Which which) {
    std::erase_if(given_, [&](const auto &each) {
        const auto &[rank, channel] = each;
        Channel::Given &given = links_[rank].channels[channel].given;
        if (which == Which::ready && given == Channel::Given::part)
            return false;
        given = Channel::Given::nothing;
        if (!links_[rank].broken)
            flush(rank, channel);
        return true;
    });
}

void TcpLinks::flush(std::size_t rank, std::size_t which) {
    Channel &channel = links_[rank].channels[which];
    (void)channel.connection->flush(); // a failure is found by receiving, after what came before it
    if (const bool writing = channel.connection->wants_to_send(); writing != channel.writing) {
        channel.writing = writing;
        unsent_ += writing ? 1 : -1;
        events_.set_writing(source_, channel.connection->descriptor(), tag(rank, which), writing);
    }
}

bool TcpLinks::progress(Receiver &receiver, const EventSet::Ready &ready) {
    bool any = false;
    ready.of(source_, [&](std::uint64_t tag, bool readable, bool writable) {
        const std::size_t rank = tag % links_.size();
        const std::size_t channel = tag / links_.size();
        if (links_[rank].broken)
            return;
        if (writable)
            flush(rank, channel);
        if (!readable)
            return;
        Incoming incoming(static_cast<int>(rank), receiver);
        const auto received = links_[rank].channels[channel].connection->receive(incoming);
        any = any || incoming.any();
        if (received == net::Connection::Received::broken || incoming.refused())
            any = report_broken(rank, channel, receiver) || any;
    });
    return any;
}

bool TcpLinks::delivered() const {
    if (unsent_ != 0)
        return false;
    for (const Link &link : links_)
        for (const Channel &channel : link.channels)
            if (!link.broken && channel.connection->unacknowledged())
                return false;
    return true;
}

// False if it was before.
bool TcpLinks::give_up(std::size_t rank) {
    Link &link = links_[rank];
    if (std::exchange(link.broken, true))
        return false;
    for (Channel &channel : link.channels) {
        events_.unwatch(channel.connection->descriptor());
        if (std::exchange(channel.writing, false))
            --unsent_;
    }
    return true;
}

bool TcpLinks::report_broken(std::size_t rank, std::size_t culprit, Receiver &receiver) {
    if (!give_up(rank))
        return false;
    const Link &link = links_[rank];
    // Data that has arrived on the other connections still counts: it may report that the rank
    // leaves.
    for (const Channel &channel : link.channels) {
        Incoming incoming(static_cast<int>(rank), receiver);
        while (!incoming.refused() &&
               channel.connection->receive(incoming) == net::Connection::Received::some)
            continue;
    }
    const net::Connection &connection = *link.channels[culprit].connection;
    const auto &failure = connection.failure();
    receiver.broken(static_cast<int>(rank),
                    failure ? failure->what()
                            : in_words(connection.peer()) + " sent an invalid message");
    return true;
}

} // namespace stretto::transport
