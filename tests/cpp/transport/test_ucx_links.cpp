// SPDX-License-Identifier: BSD-3-Clause
// Links over UCX, over its TCP, between two ranks of this process: what arrives and in which order,
// what strangers send, and what becomes of it when a peer goes.  Needs libucp.so.0.
#include "transport/ucx_ranks.hpp"

#include <map>
#include <string>
#include <utility>

using namespace stretto;
using test::kLongCell;
using test::new_worker;
using test::numbered;
using test::Rank;
using test::soon;
using test::token;
using test::World;
using transport::EventSet;
using transport::UcxMessage;
using transport::WireMessage;
namespace ucp = transport::ucp;

namespace {

std::map<std::string, std::string> changed; // settings, by Stretto

ucp::Status note_change(ucp::Config *config, const char *name, const char *value) {
    changed[name] = value;
    return ucp::library().config_modify(config, name, value);
}

} // namespace

TEST_CASE("settings of UCX that the user has not set are Stretto's, the others the user's") {
    ucp::Library noting = ucp::library();
    noting.config_modify = &note_change;
    const auto context = [&] {
        changed.clear();
        (void)ucp::OwnedContext(noting, 1);
        return changed;
    };
    CHECK(context()["ZCOPY_THRESH"] == std::to_string(transport::kLeastPutBytes));
    CHECK(context()["RCACHE_ENABLE"] == "n");
    const test::With users("UCX_ZCOPY_THRESH", "32k"), too("UCX_RCACHE_ENABLE", "y");
    CHECK(context().count("ZCOPY_THRESH") == 0);
    CHECK(context().count("RCACHE_ENABLE") == 0);
    CHECK(context().count("TLS") == 1);
}

TEST_CASE("all payloads arrive, and all but long cells in order") {
    World world;
    std::vector<std::vector<std::byte>> payloads;
    std::vector<WireMessage> packets;
    for (const std::size_t length : {0u, 1u, 7u, 333u, 8191u, 8192u, 65'537u, 300'001u, 3'000'000u})
        for (int kind = 0; kind < 3; ++kind) {
            WireMessage packet = kind == 0 ? kLongCell : WireMessage{};
            packet.kind = kind == 2 ? WireMessage::mail : WireMessage::cell;
            packet.position = packets.size();
            packet.flag = 77 + packets.size();
            packet.where = packets.size() << 40;
            packets.push_back(packet);
            payloads.push_back(numbered(length, packet.position));
        }
    for (std::size_t i = 0; i < packets.size(); ++i) {
        world.a.send(packets[i], payloads[i]);
        world.b.send(packets[i], payloads[i]);
    }
    for (Rank *each : {&world.a, &world.b}) {
        CAPTURE(each->rank);
        REQUIRE(world.soon([&] { return each->inbox.order.size() == packets.size(); }));
        std::uint64_t last = 0;
        for (const WireMessage &packet : each->inbox.order) {
            const WireMessage &sent = packets[packet.position];
            CHECK(packet.kind == sent.kind);
            CHECK(packet.flags == sent.flags);
            CHECK(packet.flag == sent.flag);
            CHECK(packet.where == sent.where);
            CHECK(each->inbox.payloads[packet.position] == payloads[packet.position]);
            if (packet.flags == 0 && !transport::may_be_put(packet)) {
                CHECK(packet.position >= last);
                last = packet.position;
            }
        }
        CHECK(world.soon([&] { return each->links->sent() && each->links->delivered(); }));
    }
}

TEST_CASE("a rank that sleeps is woken by what arrives") {
    World world;
    Rank &sleeper = world.a;
    const std::vector<std::byte> payload = numbered(1000, 0);
    for (int round = 0; round < 20; ++round) {
        REQUIRE(soon([&] {
            sleeper.look();
            return sleeper.events.arm();
        }));
        world.b.send({}, payload);
        EventSet::Ready ready;
        const std::uint64_t start = now_ns();
        while (sleeper.inbox.order.size() == static_cast<std::size_t>(round)) {
            world.b.look();
            if (sleeper.events.arm())
                sleeper.events.sleep(ready, EventSet::Until::event, 2 * test::patience_ns() / 3, 0);
            sleeper.links->progress(sleeper.inbox, ready);
        }
        CHECK(now_ns() - start < test::patience_ns() / 3);
    }
}

TEST_CASE("what comes before there is a receiver is kept") {
    Rank a(0), b(1);
    a.meet(b);
    b.meet(a);
    REQUIRE(soon([&] {
        a.links->connect();
        b.links->connect();
        return b.links->connected(0);
    }));
    b.begin();
    const std::vector<std::byte> brief = numbered(50, 0), lengthy = numbered(1'000'000, 1);
    WireMessage cell = kLongCell;
    cell.position = 1;
    b.send({}, brief);
    b.send(cell, lengthy);
    for (int round = 0; round < 10'000; ++round) {
        b.look();
        a.links->connect();
    }
    REQUIRE(a.links->connected(1));
    a.begin();
    REQUIRE(soon([&] {
        a.look();
        b.look();
        return a.inbox.order.size() == 2;
    }));
    CHECK(a.inbox.payloads[0] == brief);
    CHECK(a.inbox.payloads[1] == lengthy);
}

TEST_CASE("what strangers send is ignored") {
    World world;
    Rank stranger(1, token(7), token(0)); // which does not know the token
    stranger.meet(world.a);
    WireMessage padding;
    padding.kind = WireMessage::padding;
    const std::vector<std::byte> brief(100), lengthy(1'000'000);
    stranger.send({}, brief);
    stranger.send(padding, lengthy);
    // A header that is too short, or of no rank.
    const auto raw = new_worker();
    ucp::Endpoint *const way = raw->connect(world.a.address, nullptr, nullptr);
    UcxMessage header;
    header.sender = 99;
    ucp::RequestParameters parameters;
    for (const std::size_t length : {std::size_t{0}, std::size_t{20}, sizeof(header)}) {
        const ucp::Request request =
            ucp::library().send(way, 1, &header, length, nullptr, 0, &parameters);
        REQUIRE(!ucp::is_error(request));
        CHECK(soon([&] {
            world.a.look();
            (void)raw->progress();
            return request == nullptr ||
                   ucp::library().request_status(request) != ucp::Status::in_progress;
        }));
        if (request != nullptr)
            ucp::library().request_free(request);
    }
    // The hello, both packets, and three messages.
    CHECK(world.soon([&] {
        stranger.look();
        (void)raw->progress();
        return world.a.links->ignored() == 6;
    }));
    raw->close(way);
    CHECK(world.a.inbox.order.empty());
    CHECK(world.a.inbox.payloads.empty());
    CHECK(world.a.inbox.culprits.empty());
    world.b.send({}, brief); // the link is whole
    CHECK(world.soon([&] { return world.a.inbox.order.size() == 1; }));
}

TEST_CASE("a peer of an earlier attempt is met again at its new address") {
    auto earlier = std::make_unique<Rank>(1);
    Rank a(0);
    a.meet(*earlier);
    for (int round = 0; round < 1000; ++round)
        a.links->connect();
    CHECK(!a.links->connected(1));
    const std::vector<std::byte> gone = std::exchange(earlier, nullptr)->address;
    Rank b(1);
    b.meet(a);
    a.links->meet(1, "node1", gone);
    for (int round = 0; round < 1000; ++round) {
        a.links->connect();
        b.links->connect();
    }
    CHECK(!a.links->connected(1)); // it has been heard, but from another worker
    a.meet(b);
    CHECK(soon([&] {
        a.links->connect();
        b.links->connect();
        return a.links->connected(1) && b.links->connected(0);
    }));
}

TEST_CASE("a peer that goes breaks the link, with a reason, and nobody waits for it") {
    for (const bool sending : {false, true}) {
        CAPTURE(sending);
        World world;
        const std::vector<std::byte> lengthy(5'000'000);
        if (sending)
            world.a.send(kLongCell, lengthy); // which nobody fetches
        world.b.links.reset();
        CHECK(soon([&] {
            world.a.look();
            world.a.send({}, std::vector<std::byte>(10));
            return !world.a.inbox.culprits.empty();
        }));
        CHECK(world.a.inbox.culprits == std::vector<int>{1});
        CHECK(world.a.inbox.reason.starts_with("rank 1 (node1): its link over UCX broke: "));
        CHECK(soon([&] {
            world.a.look();
            return world.a.links->sent();
        }));
    }
}

TEST_CASE("a link that is dropped takes and gives nothing") {
    World world;
    const std::vector<std::byte> brief = numbered(100, 0), lengthy(2'000'000);
    world.b.send(kLongCell, lengthy);
    world.a.links->drop(1);
    world.b.send({}, brief);
    world.a.send({}, brief);
    for (int round = 0; round < 10'000; ++round) {
        world.a.look();
        world.b.look();
    }
    CHECK(world.a.inbox.order.empty());
    CHECK(world.a.inbox.culprits.empty());
    CHECK(world.b.inbox.order.empty());
    CHECK(world.a.links->sent());
    world.a.links->drop(1); // again
}

TEST_CASE("an invalid packet breaks the link, and an error of the receiver passes through UCX") {
    for (const std::size_t length : {std::size_t{100}, std::size_t{2'000'000}}) {
        for (const bool full : {false, true}) {
            CAPTURE(length);
            CAPTURE(full);
            World world;
            (full ? world.a.inbox.full : world.a.inbox.refuses) = true;
            const std::vector<std::byte> payload(length);
            world.b.send(kLongCell, payload);
            std::string error;
            CHECK(soon([&] {
                world.b.look();
                try {
                    world.a.look();
                } catch (const Error &thrown) {
                    error = thrown.what();
                }
                return !error.empty() || !world.a.inbox.culprits.empty();
            }));
            CHECK(world.a.inbox.order.empty());
            if (full)
                CHECK(error.find("no room") != std::string::npos);
            else
                CHECK(world.a.inbox.reason == "rank 1 (node1) sent an invalid message");
        }
    }
}
