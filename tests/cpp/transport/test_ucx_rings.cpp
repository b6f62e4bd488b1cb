// SPDX-License-Identifier: BSD-3-Clause
// What a rank sends from its own rings over UCX: one registration serves all of it, puts and
// messages, wherever in the rings it lies.
#include "transport/ucx_ranks.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "transport/shm/segment.hpp"

using namespace stretto;
using test::numbered;
using test::World;
using transport::WireMessage;
namespace ucp = transport::ucp;

namespace {

constexpr std::size_t kRingBytes = 1 << 16;

// A library that notes what is registered, and from where and by which registration the rank sends.
struct Read {
    const std::byte *from;
    std::size_t bytes;
    const ucp::Memory *memory; // null: none is named
};
std::vector<Read> reads;
int registrations = 0;

void note_read(const void *data, std::size_t length, const ucp::RequestParameters &parameters) {
    const bool named = (parameters.set & ucp::RequestParameters::kMemoryFlag) != 0;
    if (length != 0)
        reads.push_back(
            {static_cast<const std::byte *>(data), length, named ? parameters.memory : nullptr});
}
ucp::Request noted_put(ucp::Endpoint *endpoint, const void *data, std::size_t length,
                       std::uint64_t remote, ucp::RemoteKey *key,
                       const ucp::RequestParameters *parameters) {
    note_read(data, length, *parameters);
    return ucp::library().put(endpoint, data, length, remote, key, parameters);
}
ucp::Request noted_send(ucp::Endpoint *endpoint, unsigned id, const void *header,
                        std::size_t header_length, const void *data, std::size_t length,
                        const ucp::RequestParameters *parameters) {
    note_read(data, length, *parameters);
    return ucp::library().send(endpoint, id, header, header_length, data, length, parameters);
}
ucp::Status noted_map(ucp::Context *context, const ucp::MemoryParameters *parameters,
                      ucp::Memory **memory) {
    ++registrations;
    return ucp::library().memory_map(context, parameters, memory);
}
const ucp::Library &noting_library() {
    static const ucp::Library noting = [] {
        ucp::Library library = ucp::library();
        library.put = &noted_put;
        library.send = &noted_send;
        library.memory_map = &noted_map;
        return library;
    }();
    return noting;
}

// The rings of rank 0, whose peer is on another host.
std::shared_ptr<transport::Segment> segment_of_first() {
    transport::SegmentShape shape;
    shape.ranks = 2;
    shape.ring_bytes = kRingBytes;
    shape.heap_bytes = 1 << 20;
    shape.placement = transport::Placement({0, 1}, 0);
    return transport::Segment::create(shape);
}

} // namespace

TEST_CASE("rings are registered once, and puts and messages name their registration") {
    for (const bool puts : {true, false}) {
        CAPTURE(puts);
        const auto segment = segment_of_first();
        registrations = 0;
        World world(puts ? kRingBytes : 0, noting_library());
        const int before = registrations; // the window
        const transport::PutWindow own = segment->open_window(0);
        world.a.links->register_rings(own);
        CHECK(registrations == before + 1);
        CHECK(world.a.links->registered(ucp::MemoryUse::rings) == 2 * kRingBytes);
        reads.clear();
        std::size_t all = 0;
        std::uint64_t cells = 0;
        const std::byte *const cells_begin = segment->cells(0), *const bulk = segment->bulk(0);
        const auto send = [&](WireMessage cell, std::byte *from, std::size_t bytes) {
            const std::vector<std::byte> payload = numbered(bytes, cells);
            std::memcpy(from, payload.data(), bytes);
            cell.length = static_cast<std::uint32_t>(bytes);
            world.a.links->send(1, cell, from, false);
            world.a.links->push(transport::Links::Which::all);
            REQUIRE(world.soon(
                [&] { return world.b.inbox.order.size() == cells + 1 && world.a.links->sent(); }));
            ++cells;
            all += bytes;
            if (!puts) {
                CHECK(world.b.inbox.payloads[cell.position] == payload);
                return;
            }
            const bool in_bulk = from >= bulk;
            const auto place = static_cast<std::size_t>(from - (in_bulk ? bulk : cells_begin));
            std::vector<std::byte> written(bytes);
            for (std::size_t i = 0; i < bytes; ++i)
                written[i] = world.b.window[(in_bulk ? kRingBytes : 0) + (place + i) % kRingBytes];
            CHECK(written == payload);
        };
        // In the first view of cells, and in both of the bulk ring; none goes round the end.
        send({WireMessage::cell, 0, 0, 4096, 1, 0},
             segment->cells(0) + 4096 + transport::kCellHeaderBytes, 10'000);
        send({WireMessage::cell, WireMessage::kBulk, 0, 8192, 1, 0}, segment->bulk(0), 40'000);
        send({WireMessage::cell, WireMessage::kBulk, 0, 8256, 1, 20'000}, segment->bulk(0) + 20'000,
             20'000);
        if (puts) // round the end, in two pieces
            send({WireMessage::cell, WireMessage::kBulk, 0, 8320, 1, kRingBytes - 10'000},
                 segment->bulk(0) + kRingBytes - 10'000, 30'000);
        CHECK(world.a.links->counts().put_cells == (puts ? cells : 0));
        CHECK(world.a.links->counts().put_from_rings_bytes == (puts ? all : 0));
        REQUIRE(reads.size() == cells + (puts ? 1 : 0));
        for (const Read &each : reads) {
            CHECK(each.memory != nullptr);
            CHECK(each.memory == reads.front().memory);
            CHECK(each.from >= own.first);
            CHECK(each.from + each.bytes <= own.first + own.bytes());
        }
        CHECK(registrations == before + 1);
        // Other memory is sent as before, and short messages need no registration.
        std::vector<std::byte> elsewhere(10'000);
        world.a.links->send(1, {WireMessage::cell, WireMessage::kBulk, 10'000, 8384, 1, 0},
                            elsewhere.data(), false);
        world.a.links->send(1, {WireMessage::cell, 0, 1000, 12'288, 1, 0},
                            segment->cells(0) + 12'288 + transport::kCellHeaderBytes, false);
        REQUIRE(world.soon(
            [&] { return world.b.inbox.order.size() == cells + 2 && world.a.links->sent(); }));
        REQUIRE(reads.size() >= 2);
        CHECK(reads[reads.size() - 2].memory == nullptr);
        CHECK(reads.back().memory == nullptr);
        const auto context = world.a.context;
        world.a.links.reset();
        CHECK(context->registered_bytes(ucp::MemoryUse::rings) == 0);
    }
}

TEST_CASE("rings that cannot be registered are sent from all the same") {
    static bool full = false;
    ucp::Library library = ucp::library();
    library.memory_map = [](ucp::Context *context, const ucp::MemoryParameters *parameters,
                            ucp::Memory **memory) {
        constexpr auto kNoMemory = static_cast<ucp::Status>(-4);
        return full ? kNoMemory : ucp::library().memory_map(context, parameters, memory);
    };
    const auto segment = segment_of_first();
    World world(kRingBytes, library);
    full = true;
    CHECK_THROWS_WITH_AS(world.a.links->register_rings(segment->open_window(0)),
                         doctest::Contains("register 128 KiB of memory"), Error);
    const std::vector<std::byte> payload = numbered(20'000, 1);
    std::ranges::copy(payload, segment->bulk(0));
    world.a.links->send(1, {WireMessage::cell, WireMessage::kBulk, 20'000, 0, 1, 0},
                        segment->bulk(0), false);
    world.a.links->push(transport::Links::Which::all);
    REQUIRE(world.soon([&] { return !world.b.inbox.order.empty(); }));
    CHECK(std::equal(payload.begin(), payload.end(), world.b.window.begin() + kRingBytes));
    CHECK(world.a.links->counts().put_cells == 1);
    CHECK(world.a.links->counts().put_from_rings_bytes == 0);
    CHECK(world.a.links->registered(ucp::MemoryUse::rings) == 0);
}
