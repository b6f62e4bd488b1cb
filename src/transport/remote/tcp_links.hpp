// SPDX-License-Identifier: BSD-3-Clause
// Links over TCP: one or several connections to each rank of another host.
//
// push() sends the headers and payloads of all packets to a rank in one system call, directly from
// where they are.  Data that the kernel does not take waits, by reference, until the socket becomes
// writable.  Received payloads go to the memory that the receiver names: a short one through the
// connection's buffer, into which it came together with its header; a long one directly from the
// kernel.
//
// Of several connections the first takes everything but long cells, which go by the one that has
// the least to send, or had so far.  This keeps the order that is needed: a reader waits for the
// cell's own flag, and a place is written again only when its reader has taken the cell.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "net/connection.hpp"
#include "transport/remote/links.hpp"
#include "transport/wait/events.hpp"

namespace stretto::transport {

class TcpLinks final : public Links, private EventSource {
public:
    // By channel and rank.  Null for this rank and for ranks that share its memory.
    TcpLinks(EventSet &events,
             std::vector<std::vector<std::unique_ptr<net::Connection>>> connections);
    ~TcpLinks() override;

    std::string place(int rank) const override;
    void send(int to, const WireMessage &packet, const std::byte *payload, bool more) override;
    void push(Which which) override;
    bool progress(Receiver &receiver, const EventSet::Ready &ready) override;
    void drop(int rank) override { (void)give_up(static_cast<std::uint64_t>(rank)); }
    bool sent() const override { return unsent_ == 0; }
    bool delivered() const override;

private:
    struct Channel {
        std::unique_ptr<net::Connection> connection;
        std::uint64_t bytes = 0; // of all packets that it was given
        bool writing = false;    // it waits for room
        // Packets since the last push(): none, only packets that wait for a later one, or others.
        enum class Given : std::uint8_t { nothing, part, ready } given = Given::nothing;
    };
    struct Link {
        std::vector<Channel> channels; // none: no link
        bool broken = false;           // the receiver knows, or need not know
    };
    class Incoming;

    Reports reports() const override { return Reports::by_descriptors; }
    std::size_t channel_for(const Link &link, const WireMessage &packet) const;
    // The tag of a connection's events.
    std::uint64_t tag(std::size_t rank, std::size_t channel) const {
        return channel * links_.size() + rank;
    }
    void flush(std::size_t rank, std::size_t channel);
    bool give_up(std::size_t rank);
    bool report_broken(std::size_t rank, std::size_t culprit, Receiver &receiver);

    EventSet &events_;
    const EventSet::Id source_;
    std::vector<Link> links_; // by rank
    int unsent_ = 0;          // connections that wait for room
    std::vector<std::pair<std::size_t, std::size_t>>
        given_; // rank and channel of connections with data for push()
};

} // namespace stretto::transport
