// SPDX-License-Identifier: BSD-3-Clause
// Links over one or several connections: what goes where, and what becomes of it when one breaks.
#include "doctest.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "net/tcp_pair.hpp"
#include "transport/inbox.hpp"
#include "transport/remote/tcp_links.hpp"

using namespace stretto;
using transport::EventSet;
using transport::Links;
using transport::TcpLinks;
using transport::WireMessage;

namespace {

constexpr std::size_t kLong = 8 << 10;

std::unique_ptr<net::Connection> connection(Descriptor socket, std::uint32_t rank) {
    return std::make_unique<net::Connection>(
        std::move(socket), net::Peer{rank, "node", *net::Address::numeric("10.0.0.7", 29400)});
}

using test::Inbox;

std::vector<std::byte> numbered(std::uint64_t position) {
    std::vector<std::byte> bytes(kLong);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>((i * 7 + position * 31) & 0xff);
    return bytes;
}

// Rank 0 with links to rank 1, over so many connections; the other ends are here.
struct World {
    EventSet events;
    std::vector<Descriptor> others;
    std::unique_ptr<TcpLinks> links;

    explicit World(int channels) {
        std::vector<std::vector<std::unique_ptr<net::Connection>>> connections;
        for (int channel = 0; channel < channels; ++channel) {
            test::Sockets sockets = test::tcp_pair();
            connections.emplace_back(2);
            connections.back()[1] = connection(std::move(sockets.one), 1);
            others.push_back(std::move(sockets.two));
        }
        links = std::make_unique<TcpLinks>(events, std::move(connections));
    }

    void send_cell(std::uint64_t position, const std::vector<std::byte> &payload) const {
        links->send(1,
                    {WireMessage::cell, WireMessage::kBulk,
                     static_cast<std::uint32_t>(payload.size()), position, 0, 0},
                    payload.data(), false);
        links->push(Links::Which::ready);
    }
    void send_word(std::uint64_t position) const {
        links->send(1, {WireMessage::progress, 0, 0, position, 0, 0}, nullptr, false);
        links->push(Links::Which::ready);
    }
    void progress(Inbox &inbox, std::uint64_t milliseconds = 1000) {
        EventSet::Ready ready;
        events.sleep(ready, EventSet::Until::event, milliseconds * 1'000'000, 0);
        links->progress(inbox, ready);
    }
};

// Bytes that have come to this end, all that will come.
std::size_t drain(int socket) {
    std::vector<char> buffer(1 << 20);
    std::size_t bytes = 0;
    for (ssize_t got; (got = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
        bytes += static_cast<std::size_t>(got);
    return bytes;
}

} // namespace

TEST_CASE("long cells are dealt out evenly, all else goes by the first connection") {
    for (const int channels : {1, 2, 3}) {
        World world(channels);
        std::vector<std::vector<std::byte>> payloads;
        for (std::uint64_t position = 0; position < 6; ++position)
            payloads.push_back(numbered(position));
        for (std::uint64_t position = 0; position < 6; ++position) {
            world.send_cell(position, payloads[position]);
            world.send_word(position);
        }
        REQUIRE(world.links->sent());
        while (!world.links->delivered())
            continue;
        const std::size_t cells = 6 / static_cast<std::size_t>(channels);
        for (std::size_t channel = 0; channel < world.others.size(); ++channel) {
            CAPTURE(channel);
            const std::size_t words = channel == 0 ? 6 * net::kFrameHeaderBytes : 0;
            CHECK(drain(world.others[channel].get()) ==
                  cells * (net::kFrameHeaderBytes + kLong) + words);
        }
    }
}

TEST_CASE("packets wait for push(), and with `more` for the next packet") {
    World world(1);
    const std::vector<std::byte> payload = numbered(1);
    const auto send = [&](std::uint64_t position, bool more) {
        world.links->send(1, {WireMessage::cell, 0, 8, position, 0, 0}, payload.data(), more);
    };
    constexpr std::size_t kEach = net::kFrameHeaderBytes + 8;
    send(0, false);
    send(1, false);
    CHECK(drain(world.others[0].get()) == 0);
    world.links->push(Links::Which::ready);
    CHECK(drain(world.others[0].get()) == 2 * kEach);
    send(2, true);
    world.links->push(Links::Which::ready);
    CHECK(drain(world.others[0].get()) == 0);
    send(3, true);
    send(4, false);
    CHECK(drain(world.others[0].get()) == 0);
    world.links->push(Links::Which::ready);
    CHECK(drain(world.others[0].get()) == 3 * kEach);
    send(5, true);
    world.links->push(Links::Which::all);
    CHECK(drain(world.others[0].get()) == kEach);
}

TEST_CASE("a connection that stands still does not hold up the others' cells") {
    World world(2);
    // The second one is not read: in the end all that it has taken waits, and the first gets the
    // rest.
    const std::vector<std::byte> payload = numbered(0);
    std::size_t first = 0;
    constexpr int kCells = 2000; // 16 MB, more than sockets hold
    for (int cell = 0; cell < kCells; ++cell) {
        world.send_cell(0, payload);
        first += drain(world.others[0].get());
    }
    Inbox inbox;
    for (std::size_t before = ~std::size_t{0}; before != first;) {
        before = first;
        world.progress(inbox, 50);
        first += drain(world.others[0].get());
    }
    CHECK_FALSE(world.links->sent());
    CHECK(first / (net::kFrameHeaderBytes + kLong) > kCells / 2);
}

TEST_CASE("data over several connections arrives whole") {
    World world(3);
    std::vector<std::vector<std::unique_ptr<net::Connection>>> ends;
    for (Descriptor &other : world.others) {
        ends.emplace_back(2);
        ends.back()[0] = connection(std::move(other), 0);
    }
    EventSet events;
    Inbox inbox;
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint64_t position = 0; position < 50; ++position)
        payloads.push_back(numbered(position));
    {
        TcpLinks other(events, std::move(ends));
        for (std::uint64_t position = 0; position < 50; ++position)
            other.send(0, {WireMessage::cell, WireMessage::kBulk, kLong, position, 0, 0},
                       payloads[position].data(), false);
        other.send(0, {WireMessage::leave, 0, 0, 99, 0, 0}, nullptr, false);
        other.push(Links::Which::ready);
        Inbox nothing;
        while (inbox.order.size() < 51) {
            EventSet::Ready ready;
            events.look(ready);
            other.progress(nothing, ready);
            world.progress(inbox, 10);
        }
        for (std::uint64_t position = 0; position < 50; ++position)
            CHECK(inbox.payloads[position] == payloads[position]);
        // Said by the first, and then all close: the word counts, whichever is looked at first.
        other.send(0, {WireMessage::leave, 0, 0, 100, 0, 0}, nullptr, false);
        other.push(Links::Which::ready);
        while (!other.delivered())
            continue;
    }
    while (inbox.culprits.empty())
        world.progress(inbox);
    CHECK(inbox.culprits == std::vector<int>{1});
    CHECK(inbox.order.back().position == 100);
    CHECK(inbox.reason.find("rank 1") != std::string::npos);
}

TEST_CASE(
    "when one connection breaks, the rank is reported broken once and receives nothing more") {
    World world(3);
    world.others[2] = Descriptor();
    Inbox inbox;
    while (inbox.culprits.empty())
        world.progress(inbox);
    for (int i = 0; i < 3; ++i) {
        world.send_word(0);
        world.progress(inbox, 10);
    }
    CHECK(inbox.culprits == std::vector<int>{1});
    CHECK(world.links->sent());
    CHECK(drain(world.others[0].get()) == 0);
}
