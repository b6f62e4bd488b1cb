// SPDX-License-Identifier: BSD-3-Clause
// How far payloads that a rank puts over UCX may be ahead of their flags, and what becomes of those
// that are held back.
#include "transport/ucx_ranks.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "transport/held_flushes.hpp"

using namespace stretto;
using test::end_flush;
using test::held_flushes;
using test::numbered;
using test::World;
using transport::RegistrationCache;
using transport::WireMessage;
namespace ucp = transport::ucp;

namespace {

constexpr std::size_t kRingBytes = 1 << 17, kBytes = 10'000;
constexpr std::size_t kMostAheadCells = 2;

// A burst of cells from the first rank, whose flushes end when the test says so.
struct Burst {
    World world{kRingBytes, test::holding_library()};
    std::vector<std::vector<std::byte>> payloads;

    Burst() {
        look(); // hellos and offers have gone
        test::hold_flushes = true;
    }
    ~Burst() {
        test::hold_flushes = false;
        while (!held_flushes.empty())
            end_flush(ucp::Status::ok);
    }
    Burst(const Burst &) = delete;
    Burst &operator=(const Burst &) = delete;

    void look() {
        for (int round = 0; round < 2000; ++round) {
            world.a.look();
            world.b.look();
        }
    }
    static WireMessage cell(std::size_t number) {
        return {WireMessage::cell, WireMessage::kBulk, 0,
                64 * number,       1000 + number,      kBytes * number};
    }
    void send(std::size_t cells) {
        for (std::size_t i = 0; i < cells; ++i) {
            const std::size_t number = payloads.size();
            payloads.push_back(numbered(kBytes, number));
            world.a.send(cell(number), payloads.back());
        }
    }
    std::vector<std::byte> found(std::size_t number) const {
        const auto first =
            world.b.window.begin() + static_cast<std::ptrdiff_t>(kRingBytes + kBytes * number);
        return {first, first + kBytes};
    }
    // By the numbers of the cells that the reader has heard of, in that order.
    std::vector<std::size_t> heard() const {
        std::vector<std::size_t> numbers;
        for (const WireMessage &each : world.b.inbox.order)
            if (transport::is_placed(each))
                numbers.push_back(each.position / 64);
        return numbers;
    }
    const transport::UcxCounts &counts() const { return world.a.links->counts(); }
};

using Numbers = std::vector<std::size_t>;

} // namespace

TEST_CASE("two payloads are ahead of their flags, and the next is put when one has gone") {
    Burst burst;
    constexpr std::size_t cells = 7;
    burst.send(cells);
    Numbers heard;
    for (std::size_t gone = 0; gone < cells; ++gone) {
        CAPTURE(gone);
        const std::size_t put = std::min(gone + kMostAheadCells, cells);
        REQUIRE(burst.world.soon([&] { return burst.found(put - 1) == burst.payloads[put - 1]; }));
        burst.look();
        CHECK(burst.counts().puts == put);
        CHECK(burst.counts().put_cells == put);
        if (put < cells)
            CHECK(burst.found(put) == std::vector<std::byte>(kBytes, std::byte{0xee}));
        CHECK(burst.heard() == heard);
        CHECK(!burst.world.a.links->sent());
        REQUIRE(held_flushes.size() == put - gone); // one for each
        end_flush(ucp::Status::ok);
        heard.push_back(gone);
        CHECK(burst.world.soon([&] { return burst.heard() == heard; }));
    }
    test::hold_flushes = false;
    CHECK(burst.world.soon([&] { return burst.world.a.links->sent(); }));
    CHECK(burst.counts().most_ahead_cells == kMostAheadCells);
    CHECK(burst.counts().messages == 2 + cells); // hello, offer
    for (std::size_t i = 0; i < cells; ++i)
        CHECK(burst.found(i) == burst.payloads[i]);
}

TEST_CASE("a flush that ends before the one that began earlier stands for both") {
    Burst burst;
    burst.send(3);
    burst.look();
    REQUIRE(held_flushes.size() == 2);
    end_flush(ucp::Status::ok, 1);
    CHECK(burst.world.soon([&] { return burst.heard() == Numbers{0, 1}; }));
    burst.look();
    CHECK(burst.counts().puts == 3);
    REQUIRE(held_flushes.size() == 2); // the first, and that of the third
    end_flush(ucp::Status::ok);
    burst.look();
    CHECK(burst.heard() == Numbers{0, 1}); // it says nothing of the third
    REQUIRE(held_flushes.size() == 1);
    end_flush(ucp::Status::ok);
    CHECK(burst.world.soon([&] { return burst.heard() == Numbers{0, 1, 2}; }));
}

TEST_CASE("other packets do not wait behind payloads that are held") {
    Burst burst;
    burst.send(4);
    const std::vector<std::byte> brief = numbered(100, 7);
    for (std::uint64_t i = 0; i < 3; ++i) {
        WireMessage packet{WireMessage::mail, 0, 0, 1'000'000 + i, 0, 0};
        burst.world.a.send(packet, brief);
    }
    CHECK(burst.world.soon([&] { return burst.world.b.inbox.order.size() == 3; }));
    for (std::uint64_t i = 0; i < 3; ++i)
        CHECK(burst.world.b.inbox.order[i].position == 1'000'000 + i);
    test::hold_flushes = false;
    while (!held_flushes.empty())
        end_flush(ucp::Status::ok);
    CHECK(burst.world.soon([&] { return burst.heard() == Numbers{0, 1, 2, 3}; }));
}

TEST_CASE("what is held is not read after the communicator has failed") {
    Burst burst;
    burst.send(5);
    burst.look();
    CHECK(burst.counts().puts == 2);
    // Its callers may now do what they like with their buffers.
    const std::string why = "rank 7 has died";
    burst.world.a.links->send(
        1, {WireMessage::failure, 0, static_cast<std::uint32_t>(why.size()), 1'000'000, 1, 0},
        reinterpret_cast<const std::byte *>(why.data()), false);
    burst.world.a.links->push(transport::Links::Which::all);
    for (std::size_t i = 2; i < burst.payloads.size(); ++i)
        std::vector<std::byte>().swap(burst.payloads[i]);
    burst.send(1); // by another thread that does not know yet
    test::hold_flushes = false;
    while (!held_flushes.empty())
        end_flush(ucp::Status::ok);
    CHECK(burst.world.soon([&] {
        return burst.world.a.links->sent() && !burst.world.b.inbox.payloads[1'000'000].empty();
    }));
    burst.look();
    CHECK(burst.counts().puts == 2);
    CHECK(burst.world.b.inbox.culprits.empty());
}

TEST_CASE("what is held for a rank that is given up goes nowhere, and nobody waits for it") {
    Burst burst;
    burst.send(5);
    burst.look();
    burst.world.a.links->drop(1);
    test::hold_flushes = false;
    while (!held_flushes.empty())
        end_flush(ucp::Status::canceled);
    CHECK(burst.world.soon([&] { return burst.world.a.links->sent(); }));
    CHECK(burst.counts().puts == 2);
    CHECK(burst.heard().empty());
}

TEST_CASE("a caller's buffer that is held stays registered until it is put") {
    Burst burst;
    constexpr std::size_t cells = 4;
    const auto cache = std::make_shared<RegistrationCache>(burst.world.a.context, cells * kBytes);
    burst.world.a.links->use(cache);
    for (std::size_t i = 0; i < cells; ++i)
        burst.payloads.push_back(numbered(kBytes, i));
    for (std::size_t i = 0; i < cells; ++i) {
        REQUIRE(burst.world.a.links->sends_from(1, burst.payloads[i].data(), kBytes));
        burst.world.a.send(Burst::cell(i), burst.payloads[i]);
    }
    burst.look();
    CHECK(burst.counts().puts == 2);
    // Two registrations are in use, whoever else needs room.
    const std::vector<std::byte> other(2 * kBytes + 1), fits(2 * kBytes);
    CHECK(cache->take(other.data(), other.size()) == nullptr);
    CHECK(cache->take(fits.data(), fits.size()) != nullptr);
    test::hold_flushes = false;
    while (!held_flushes.empty())
        end_flush(ucp::Status::ok);
    CHECK(burst.world.soon([&] { return burst.heard() == Numbers{0, 1, 2, 3}; }));
    CHECK(burst.counts().put_from_buffers_bytes == cells * kBytes);
    for (std::size_t i = 0; i < cells; ++i)
        CHECK(burst.found(i) == burst.payloads[i]);
}
