// SPDX-License-Identifier: BSD-3-Clause
// Connections: what they cost in system calls, and what becomes of them.
#include "doctest.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "base/clock.hpp"
#include "net/collector.hpp"
#include "net/connection.hpp"
#include "net/sockets.hpp"
#include "net/tcp_pair.hpp"

using namespace stretto;
using namespace stretto::net;
using test::Bytes;
using test::Collector;
using How = Destination::How;
using Received = Connection::Received;

namespace {

constexpr ConnectionLimits kLimits{.payload = std::size_t{4} << 20, .buffer = 65536};

Peer rank(std::uint32_t number) {
    return {number, "node" + std::to_string(number), *Address::numeric("10.0.0.7", 29400)};
}

// Two ends of a connection.
struct Pair {
    Connection one, two;
    Pair(test::Sockets sockets, const ConnectionLimits &limits = kLimits)
        : one(std::move(sockets.one), rank(1), limits),
          two(std::move(sockets.two), rank(2), limits) {}
};

Bytes counted(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xff);
    return bytes;
}

std::uint64_t send(Connection &from, const Bytes &payload, std::uint64_t a = 0) {
    Frame frame;
    frame.a = a;
    const iovec piece{const_cast<std::byte *>(payload.data()), payload.size()};
    return from.queue(frame, {&piece, 1});
}

std::uint64_t send(Connection &, Bytes &&, std::uint64_t = 0) = delete; // it is sent later

// Moves all that is queued, whatever fits at a time.
void carry(Connection &from, Connection &to, FrameReceiver &receiver) {
    while (from.wants_to_send()) {
        REQUIRE(from.flush());
        REQUIRE(to.receive(receiver) != Received::broken);
    }
    while (to.traffic().bytes_received < from.traffic().bytes_sent)
        REQUIRE(to.receive(receiver) != Received::broken);
}

bool says(const Connection &connection, const char *what) {
    REQUIRE(connection.failure());
    const std::string text = connection.failure()->what();
    CAPTURE(text);
    CHECK(connection.failure()->status() == Status::peer);
    CHECK(text.find("rank ") == 0);
    CHECK(text.find("10.0.0.7:29400") != std::string::npos);
    return text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("a small message is one system call on either side") {
    for (const auto &sockets : {&test::local_pair, &test::tcp_pair}) {
        Pair pair(sockets());
        Collector receiver([](const Frame &) { return How::whole; });
        const Bytes payload = counted(1000);
        for (std::uint64_t turn = 1; turn <= 3; ++turn) {
            CHECK(send(pair.one, payload, turn) == turn);
            REQUIRE(pair.one.flush());
            CHECK(pair.one.frames_sent() == turn);
            CHECK_FALSE(pair.one.wants_to_send());
            while (receiver.got.size() < turn) // TCP takes its time even on one host
                REQUIRE(pair.two.receive(receiver) == Received::all);
            CHECK(receiver.got.back().payload == payload);
            CHECK(receiver.got.back().frame.a == turn);
            CHECK(pair.one.traffic().send_calls == turn);
            CHECK(pair.two.traffic().receive_calls == turn);
        }
        const Traffic sent = pair.one.traffic(), received = pair.two.traffic();
        CHECK(sent.vain_sends == 0);
        CHECK(sent.bytes_sent == 3 * 1032);
        CHECK(received.bytes_received == 3 * 1032);
        CHECK(sent.frames_sent == 3);
        CHECK(received.frames_received == 3);
    }
}

TEST_CASE("small messages that are ready together go together") {
    Pair pair(test::local_pair());
    Collector receiver([](const Frame &) { return How::whole; });
    const Bytes payload = counted(64);
    for (std::uint64_t i = 0; i < 50; ++i)
        send(pair.one, payload, i);
    REQUIRE(pair.one.flush());
    CHECK(pair.one.traffic().send_calls == 1);
    REQUIRE(pair.two.receive(receiver) == Received::all);
    CHECK(pair.two.traffic().receive_calls == 1);
    REQUIRE(receiver.got.size() == 50);
    CHECK(receiver.got[49].frame.a == 49);
    CHECK(pair.two.receive(receiver) == Received::all); // asked in vain
    CHECK(pair.two.traffic().vain_receives == 1);
}

TEST_CASE("many pieces of many frames, more than a call takes") {
    Pair pair(test::local_pair());
    Collector receiver([](const Frame &) { return How::whole; });
    const Bytes payload = counted(100);
    std::vector<iovec> pieces;
    for (std::size_t at = 0; at < 100; at += 10)
        pieces.push_back({const_cast<std::byte *>(payload.data()) + at, 10});
    for (std::uint64_t i = 0; i < 100; ++i)
        pair.one.queue(Frame{}, pieces);
    carry(pair.one, pair.two, receiver);
    REQUIRE(receiver.got.size() == 100);
    for (const auto &got : receiver.got)
        CHECK(got.payload == payload);
    CHECK(pair.one.traffic().send_calls >= 1100 / 128);
}

TEST_CASE("large messages both ways, to every landing, over TCP of both kinds") {
    const Bytes payload = counted(3'000'001);
    for (const auto &sockets : {&test::tcp_pair, &test::tcp6_pair})
        for (const How how : {How::pieces, How::memory}) {
            test::Sockets both = sockets();
            if (!both.one.open())
                continue; // this host has no IPv6
            Pair pair(std::move(both));
            Collector first([&](const Frame &) { return how; });
            Collector second([&](const Frame &) { return how; });
            for (std::uint64_t i = 0; i < 3; ++i) {
                send(pair.one, payload, i);
                send(pair.two, payload, i + 10);
            }
            while (first.got.size() < 3 || second.got.size() < 3) {
                REQUIRE(pair.one.flush());
                REQUIRE(pair.two.flush());
                REQUIRE(pair.one.receive(first) != Received::broken);
                REQUIRE(pair.two.receive(second) != Received::broken);
            }
            for (std::uint64_t i = 0; i < 3; ++i) {
                CHECK(first.got[i].frame.a == i + 10);
                CHECK(first.got[i].payload == payload);
                CHECK(second.got[i].payload == payload);
            }
            CHECK(pair.one.frames_sent() == 3);
            CHECK(pair.one.queued_bytes() == 0);
        }
}

TEST_CASE("bytes that the kernel does not take are sent later, without a copy") {
    Pair pair(test::local_pair());
    Bytes payload = counted(4 << 20);
    send(pair.one, payload);
    REQUIRE(pair.one.flush());
    CHECK(pair.one.wants_to_send());
    CHECK(pair.one.frames_sent() == 0);
    const std::size_t left = pair.one.queued_bytes();
    CHECK(left > 0);
    payload.back() = std::byte{0x77}; // not copied: what is not sent yet can still change
    Collector receiver([](const Frame &) { return How::memory; });
    carry(pair.one, pair.two, receiver);
    REQUIRE(receiver.got.size() == 1);
    CHECK(receiver.got[0].payload == payload);
    CHECK(pair.one.frames_sent() == 1);
}

TEST_CASE("a connection that has received much gives others a turn") {
    Pair pair(test::local_pair(), {.payload = 1 << 20, .buffer = 4096});
    Collector receiver([](const Frame &) { return How::pieces; });
    const Bytes payload = counted(100'000);
    send(pair.one, payload);
    REQUIRE(pair.one.flush());
    REQUIRE_FALSE(pair.one.wants_to_send());
    CHECK(pair.two.receive(receiver) == Received::some);
    CHECK(pair.two.traffic().receive_calls == 16);
    CHECK(receiver.got.empty());
    while (receiver.got.empty())
        REQUIRE(pair.two.receive(receiver) != Received::broken);
    CHECK(receiver.got[0].payload == payload);
}

TEST_CASE("the end of a connection names the peer and the cause") {
    Collector receiver([](const Frame &) { return How::whole; });
    SUBCASE("closed between frames") {
        Pair pair(test::tcp_pair());
        const Bytes payload = counted(10);
        send(pair.one, payload);
        REQUIRE(pair.one.flush());
        {
            const Connection gone = std::move(pair.one);
        }
        while (pair.two.receive(receiver) == Received::all) {
        }
        CHECK(receiver.got.size() == 1); // what was sent before is not lost
        CHECK(says(pair.two, "it closed the connection"));
        CHECK_FALSE(says(pair.two, "middle"));
        CHECK(says(pair.two, "rank 2 (node2, 10.0.0.7:29400)")); // so this end calls the other
        CHECK(pair.two.receive(receiver) == Received::broken);   // and remains so
        CHECK_FALSE(pair.two.flush());
    }
    SUBCASE("closed in the middle of a frame") {
        test::Sockets sockets = test::local_pair();
        Frame frame;
        frame.length = 100;
        const FrameHeader header = write(frame);
        REQUIRE(write(sockets.one.get(), header.data(), header.size()) == 32);
        Connection two(std::move(sockets.two), rank(1), kLimits);
        {
            const Descriptor closed = std::move(sockets.one);
        }
        while (two.receive(receiver) == Received::all) {
        }
        CHECK(says(two, "in the middle of a frame"));
        CHECK(says(two, "rank 1 (node1, 10.0.0.7:29400)"));
    }
    SUBCASE("reset") {
        test::Sockets sockets = test::tcp_pair();
        const linger at_once{1, 0};
        setsockopt(sockets.one.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        Connection two(std::move(sockets.two), rank(1), kLimits);
        {
            const Descriptor closed = std::move(sockets.one);
        }
        while (two.receive(receiver) == Received::all) {
        }
        CHECK(says(two, "the process has ended or was killed"));
    }
    SUBCASE("found out when sending: what it said before is still heard") {
        test::Sockets sockets = test::local_pair();
        Connection two(std::move(sockets.two), rank(1), kLimits);
        {
            const Descriptor closed = std::move(sockets.one);
            const FrameHeader header = write(Frame{});
            REQUIRE(write(closed.get(), header.data(), header.size()) == 32);
        }
        const Bytes payload = counted(10);
        send(two, payload);
        CHECK_FALSE(two.flush()); // and no signal
        CHECK_FALSE(two.failure());
        while (two.receive(receiver) == Received::all) {
        }
        CHECK(two.traffic().frames_received == 1);
        CHECK(says(two, "the process has ended or was killed"));
        CHECK_FALSE(two.wants_to_send());
    }
    SUBCASE("too long a frame") {
        test::Sockets sockets = test::local_pair();
        Frame frame;
        frame.length = static_cast<std::uint32_t>(kLimits.payload) + 1;
        const FrameHeader header = write(frame);
        REQUIRE(write(sockets.one.get(), header.data(), header.size()) == 32);
        Connection two(std::move(sockets.two), rank(1), kLimits);
        CHECK(two.receive(receiver) == Received::broken);
        CHECK(says(two, "4194305 bytes"));
        CHECK(says(two, "install the same Stretto"));
    }
}

TEST_CASE("a connection knows whether the peer has what was sent") {
    Pair pair(test::tcp_pair());
    CHECK_FALSE(pair.one.unacknowledged());
    // More than both kernels take.
    const Bytes payload = counted(kLimits.payload);
    std::uint64_t sent = 0;
    while (!pair.one.wants_to_send()) {
        send(pair.one, payload, ++sent);
        REQUIRE(pair.one.flush());
    }
    CHECK(pair.one.unacknowledged());
    Collector collector([](const Frame &) { return How::memory; });
    while (collector.got.size() < sent) {
        REQUIRE(pair.one.flush());
        REQUIRE(pair.two.receive(collector) != Received::broken);
    }
    const std::uint64_t start = now_ns();
    while (pair.one.unacknowledged())
        REQUIRE(now_ns() - start < test::kAges);
}
