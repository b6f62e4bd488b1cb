// SPDX-License-Identifier: BSD-3-Clause
// Cells that a rank puts into the memory of a peer over UCX: what lies there, who learns of it, how
// many operations and copies it takes, and what becomes of it when a rank is given up.
#include "transport/ucx_ranks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "transport/held_flushes.hpp"
#include "transport/ucx/ucx_offer.hpp"

using namespace stretto;
using test::numbered;
using test::Rank;
using test::soon;
using test::World;
using transport::kCellHeaderBytes;
using transport::UcxCounts;
using transport::WireMessage;
namespace ucp = transport::ucp;

namespace {

constexpr std::size_t kRingBytes = 1 << 16;

WireMessage cell_at(std::uint64_t position) {
    return {WireMessage::cell, 0, 0, position, 1000 + position, 0};
}
WireMessage bulk_at(std::uint64_t position, std::uint64_t where) {
    return {WireMessage::cell, WireMessage::kBulk, 0, position, 1000 + position, where};
}

// Of its payload the receiver knows that it is there.
bool came(const Rank &reader, const WireMessage &cell) {
    return std::ranges::any_of(reader.inbox.order, [&](const WireMessage &each) {
        return transport::is_placed(each) && each.position == cell.position;
    });
}
// Goes round the end of the ring.
std::vector<std::byte> payload(const Rank &reader, const WireMessage &cell, std::size_t length) {
    const bool bulk = (cell.flags & WireMessage::kBulk) != 0;
    const std::uint64_t first = bulk ? cell.where : cell.position + kCellHeaderBytes;
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = reader.window[(bulk ? kRingBytes : 0) + (first + i) % kRingBytes];
    return bytes;
}

} // namespace

TEST_CASE("the payload of a long cell lies in the peer's memory, and goes round the end") {
    struct Case {
        WireMessage cell;
        std::size_t length;
        std::uint64_t pieces;
    };
    const std::uint64_t lap = 7 * kRingBytes;
    for (const auto &[cell, length, pieces] :
         {Case{cell_at(lap), 8192, 1}, Case{cell_at(lap + 320), 30'001, 1},
          Case{cell_at(lap + kRingBytes - 64), 20'000, 2},
          Case{cell_at(lap + 1024), kRingBytes - kCellHeaderBytes - 1024, 1},
          Case{bulk_at(lap + 64, 0), kRingBytes, 1}, Case{bulk_at(lap + 128, 4096), 9000, 1},
          Case{bulk_at(lap + 192, kRingBytes - 5000), 50'000, 2}}) {
        CAPTURE(cell.position);
        CAPTURE(length);
        World world(kRingBytes);
        const std::vector<std::byte> sent = numbered(length, cell.position);
        world.a.send(cell, sent);
        REQUIRE(world.soon([&] { return !world.b.inbox.order.empty(); }));
        CHECK(payload(world.b, cell, length) == sent);
        const WireMessage &packet = world.b.inbox.order[0];
        CHECK(transport::is_placed(packet));
        CHECK((packet.flags & WireMessage::kBulk) == (cell.flags & WireMessage::kBulk));
        CHECK(packet.position == cell.position);
        CHECK(packet.flag == cell.flag);
        CHECK(packet.where == cell.where);
        CHECK(packet.length == length);
        // Nothing else was written.
        const auto touched = std::ranges::count_if(
            world.b.window, [](std::byte each) { return each != std::byte{0xee}; });
        CHECK(static_cast<std::size_t>(touched) <= length);
        REQUIRE(world.soon([&] { return world.a.links->sent() && world.a.links->delivered(); }));
        const UcxCounts &counts = world.a.links->counts(), &theirs = world.b.links->counts();
        CHECK(counts.put_cells == 1);
        CHECK(counts.puts == pieces);
        CHECK(counts.put_bytes == length);
        CHECK(counts.registrations == 1);
        CHECK(counts.registered_bytes == 2 * kRingBytes);
        CHECK(counts.messages == 3); // hello, offer, cell
        CHECK(theirs.messages == 2);
        CHECK(theirs.copies == 0);
        CHECK(theirs.copied_bytes == 0);
        CHECK(world.b.inbox.payloads.empty());
    }
}

TEST_CASE("a cell comes only when its payload is there, however often the ring goes round") {
    World world(kRingBytes);
    for (std::uint64_t round = 0; round < 300; ++round) {
        const WireMessage cell = bulk_at(64 * round, 0);
        const std::vector<std::byte> sent = numbered(kRingBytes, round);
        world.a.send(cell, sent);
        REQUIRE(world.soon([&] { return came(world.b, cell); }));
        REQUIRE(payload(world.b, cell, sent.size()) == sent);
    }
    CHECK(world.a.links->counts().puts == 300);
}

TEST_CASE("a cell goes when a flush that began behind its payload has ended, and not before") {
    for (const bool fails : {false, true}) {
        CAPTURE(fails);
        World world(kRingBytes, test::holding_library());
        const auto look = [&] {
            for (int round = 0; round < 2000; ++round) {
                world.a.look();
                world.b.look();
            }
        };
        look();
        test::hold_flushes = true;
        const std::vector<std::byte> first = numbered(10'000, 1), second = numbered(10'000, 2);
        world.a.send(bulk_at(64, 0), first);
        REQUIRE(world.soon([&] { return payload(world.b, bulk_at(64, 0), 10'000) == first; }));
        REQUIRE(test::held_flushes.size() == 1);
        world.a.send(bulk_at(128, 16'000), second); // behind that flush
        look();
        CHECK(test::held_flushes.size() == 2);
        CHECK(world.b.inbox.order.empty());
        CHECK(!world.a.links->sent());
        test::end_flush(fails ? ucp::Status::canceled : ucp::Status::ok);
        look();
        REQUIRE(test::held_flushes.size() == 1);
        if (fails) {
            CHECK(world.b.inbox.order.empty());
        } else {
            REQUIRE(world.b.inbox.order.size() == 1);
            CHECK(world.b.inbox.order[0].position == 64);
        }
        test::end_flush(ucp::Status::ok);
        test::hold_flushes = false;
        look();
        CHECK(world.b.inbox.order.size() == 2);
        CHECK(payload(world.b, bulk_at(128, 16'000), 10'000) == second);
    }
}

TEST_CASE("short cells and other packets go by messages, and cells that were put come in order") {
    World world(kRingBytes);
    const std::vector<std::byte> brief = numbered(8191, 1), lengthy = numbered(10'000, 2);
    world.a.send(cell_at(0), brief);
    WireMessage mail;
    mail.kind = WireMessage::mail;
    mail.position = 5;
    world.a.send(mail, lengthy);
    constexpr std::uint64_t cells = 20;
    std::vector<std::vector<std::byte>> payloads(cells);
    for (std::uint64_t i = 0; i < cells; ++i)
        world.a.send(bulk_at(64 * (i + 1), 0), payloads[i] = numbered(8192 + i, i));
    REQUIRE(world.soon([&] { return world.b.inbox.order.size() == 2 + cells; }));
    for (std::uint64_t i = 0; i < cells; ++i) {
        CHECK(world.b.inbox.order[2 + i].position == 64 * (i + 1));
        CHECK(world.b.inbox.order[2 + i].length == 8192 + i);
    }
    CHECK(world.a.links->counts().put_cells == cells);
    CHECK(world.a.links->counts().puts == cells);
    CHECK(world.a.links->counts().messages == 4 + cells); // hello, offer, cell, mail
    CHECK(world.b.links->counts().copies == 1);           // of cells
    CHECK(world.b.links->counts().copied_bytes == 8191);
    CHECK(world.b.inbox.payloads[0] == brief);
    CHECK(world.b.inbox.payloads[5] == lengthy);
}

TEST_CASE("a rank that sleeps is woken by what was put") {
    World world(kRingBytes);
    Rank &sleeper = world.a;
    const std::vector<std::byte> sent = numbered(50'000, 0);
    for (std::uint64_t round = 1; round <= 20; ++round) {
        REQUIRE(soon([&] {
            sleeper.look();
            return sleeper.events.arm();
        }));
        const WireMessage cell = bulk_at(64 * round, 0);
        world.b.send(cell, sent);
        transport::EventSet::Ready ready;
        const std::uint64_t start = now_ns();
        while (!came(sleeper, cell)) {
            world.b.look();
            if (sleeper.events.arm())
                sleeper.events.sleep(ready, transport::EventSet::Until::event,
                                     2 * test::patience_ns() / 3, 0);
            sleeper.links->progress(sleeper.inbox, ready);
        }
        CHECK(now_ns() - start < test::patience_ns() / 3);
    }
}

TEST_CASE("long cells wait for the peer's offer, and go by messages if there is none") {
    for (const bool offered : {true, false}) {
        CAPTURE(offered);
        Rank a(0), b(1);
        a.meet(b);
        b.meet(a);
        REQUIRE(soon([&] {
            a.links->connect();
            b.links->connect();
            return a.links->connected(1) && b.links->connected(0);
        }));
        a.begin();
        const WireMessage cell = bulk_at(0, 0);
        const std::vector<std::byte> sent = numbered(kRingBytes, 3);
        a.send(cell, sent);
        for (int round = 0; round < 10'000; ++round) {
            a.look();
            b.links->connect();
        }
        CHECK(!a.links->sent());
        CHECK(a.links->counts().messages == 2); // hello, offer
        b.begin(offered ? kRingBytes : 0);
        REQUIRE(soon([&] {
            a.look();
            b.look();
            return !b.inbox.order.empty() && a.links->sent();
        }));
        if (offered)
            CHECK(payload(b, cell, sent.size()) == sent);
        else
            CHECK(b.inbox.payloads[0] == sent);
        CHECK(transport::is_placed(b.inbox.order[0]) == offered);
        CHECK(a.links->counts().put_cells == (offered ? 1u : 0u));
        CHECK(b.links->counts().registrations == (offered ? 1u : 0u));
    }
}

TEST_CASE("a window that the peer cannot use is taken back, and cells go by messages") {
    Rank a(0), b(1);
    a.meet(b);
    b.meet(a);
    REQUIRE(soon([&] {
        a.links->connect();
        b.links->connect();
        return a.links->connected(1) && b.links->connected(0);
    }));
    a.begin();
    b.links->join(b.events);
    b.links->put_anyhow();
    b.window.assign(2 * kRingBytes, std::byte{0xee});
    b.links->offer(0, {b.window.data(), 3000}); // no power of two
    CHECK(b.links->registered() == 6000);
    const std::vector<std::byte> sent = numbered(kRingBytes, 3);
    a.send(bulk_at(0, 0), sent);
    REQUIRE(soon([&] {
        a.look();
        b.look();
        return !b.inbox.order.empty() && a.links->sent();
    }));
    CHECK(b.inbox.payloads[0] == sent);
    CHECK(a.links->counts().puts == 0);
    CHECK(soon([&] {
        b.look();
        return b.links->registered() == 0;
    }));
}

TEST_CASE("offers of strangers, and parts of them, are none") {
    World world(kRingBytes);
    Rank stranger(1, test::token(7), test::token(0)); // which does not know the token
    stranger.meet(world.a);
    stranger.begin(kRingBytes);
    REQUIRE(world.soon([&] {
        stranger.look();
        return world.a.links->ignored() == 2; // hello and offer
    }));
    const std::vector<std::byte> sent = numbered(kRingBytes, 3);
    const WireMessage cell = bulk_at(0, 0);
    world.a.send(cell, sent);
    CHECK(world.soon([&] { return came(world.b, cell); }));
    CHECK(payload(world.b, cell, sent.size()) == sent);
    CHECK(stranger.window == std::vector<std::byte>(2 * kRingBytes, std::byte{0xee}));

    const std::vector<std::byte> key(5, std::byte{9});
    const std::vector<std::byte> bytes = transport::written({1, 2, key});
    for (std::size_t length = 0; length <= transport::kOfferHeadBytes; ++length)
        CHECK(!transport::read_offer(std::span(bytes).first(length)));
    const auto offer = transport::read_offer(bytes);
    REQUIRE(offer);
    CHECK(offer->first == 1);
    CHECK(offer->ring_bytes == 2);
    CHECK(std::vector<std::byte>(offer->key.begin(), offer->key.end()) == key);
}

TEST_CASE("what a rank puts after it is given up reaches only its own dead ring") {
    World world(kRingBytes);
    const std::vector<std::byte> sent = numbered(kRingBytes, 3);
    std::vector<std::byte> next(2 * kRingBytes, std::byte{0xdd}); // of the ranks that continue
    world.a.send(bulk_at(0, 0), sent);
    REQUIRE(world.soon([&] { return !world.b.inbox.order.empty(); }));
    CHECK(world.b.links->registered() == 2 * kRingBytes);
    world.b.links->drop(0);
    CHECK(world.b.links->registered() == 0);
    const std::size_t heard = world.b.inbox.order.size();
    world.a.send(bulk_at(64, 0), sent);
    world.a.send(cell_at(4096), numbered(20'000, 4));
    for (int round = 0; round < 10'000; ++round) {
        world.a.look();
        world.b.look();
    }
    CHECK(world.b.inbox.order.size() == heard); // no receiver hears of it
    CHECK(world.b.inbox.culprits.empty());
    CHECK(next == std::vector<std::byte>(2 * kRingBytes, std::byte{0xdd}));
    CHECK(world.b.links->counts().copies == 0);
}

TEST_CASE("a peer that goes while cells are put breaks the link, and nobody waits for it") {
    World world(kRingBytes);
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint64_t i = 0; i < 50; ++i) {
        payloads.push_back(numbered(kRingBytes, i));
        world.a.send(bulk_at(64 * i, 0), payloads.back());
    }
    world.b.links.reset();
    CHECK(soon([&] {
        world.a.look();
        world.a.send({}, numbered(10, 0));
        return !world.a.inbox.culprits.empty();
    }));
    CHECK(world.a.inbox.culprits == std::vector<int>{1});
    CHECK(soon([&] {
        world.a.look();
        return world.a.links->sent();
    }));
}

TEST_CASE("a cell whose payload is said to lie in memory that was not offered breaks the link") {
    World world; // which offers none
    WireMessage cell = cell_at(64);
    cell.flags |= WireMessage::kPlaced;
    world.a.links->send(1, cell, nullptr, false);
    CHECK(world.soon([&] { return !world.b.inbox.culprits.empty(); }));
    CHECK(world.b.inbox.order.empty());
    CHECK(world.b.inbox.reason == "rank 0 (node0) sent an invalid message");
}
