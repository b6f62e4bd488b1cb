// SPDX-License-Identifier: BSD-3-Clause
// Memory that is taken and given back: nobody gets what another has, and little is touched.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "transport/remote/linked_peers.hpp"
#include "transport/remote/payloads.hpp"
#include "transport/remote/pool.hpp"
#include "transport/shm/cell.hpp"

using namespace stretto;
using transport::Pool;
using transport::RemotePayloads;
using transport::WireMessage;

namespace {

WireMessage cell(std::uint64_t position, std::size_t length) {
    return {WireMessage::cell, 0, static_cast<std::uint32_t>(length), position, 1, 0};
}

WireMessage bulk(std::uint64_t position, std::uint64_t where, std::size_t length) {
    return {WireMessage::cell,
            WireMessage::kBulk,
            static_cast<std::uint32_t>(length),
            position,
            1,
            where};
}

} // namespace

TEST_CASE("a pool never gives out memory twice, and takes back everything") {
    for (const unsigned seed : {1u, 2u, 3u}) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        Pool pool;
        struct Mine {
            std::byte *memory;
            std::size_t bytes;
            std::byte mark;
        };
        std::vector<Mine> mine;
        for (int turn = 0; turn < 4000; ++turn) {
            if (!mine.empty() && (random() % 2 == 0 || mine.size() > 40)) {
                const std::size_t which = random() % mine.size();
                const Mine &old = mine[which];
                REQUIRE(std::all_of(old.memory, old.memory + old.bytes,
                                    [&](std::byte each) { return each == old.mark; }));
                pool.give(old.memory);
                mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(which));
                continue;
            }
            const std::size_t bytes = turn % 500 == 0 ? 3u << 20 : random() % 20000;
            std::byte *const memory = pool.take(bytes);
            REQUIRE(reinterpret_cast<std::uintptr_t>(memory) % transport::kLineBytes ==
                    transport::kCellHeaderBytes);
            const auto mark = static_cast<std::byte>(random());
            std::fill(memory, memory + bytes, mark);
            mine.push_back({memory, bytes, mark});
        }
        for (const Mine &each : mine)
            pool.give(each.memory);
        CHECK(pool.used() == 0);
        // All of it is one piece again, or one of each map: what it holds can be taken whole.
        const std::size_t before = pool.bytes();
        pool.give(pool.take(2u << 20));
        CHECK(pool.bytes() == before);
    }
}

TEST_CASE("returned memory is used before new memory") {
    Pool pool;
    std::byte *const first = pool.take(100'000);
    std::byte *const second = pool.take(50'000);
    pool.give(first);
    CHECK(pool.take(60'000) == first);
    pool.give(second);
    const std::size_t bytes = pool.bytes();
    for (int turn = 0; turn < 1000; ++turn)
        pool.give(pool.take(1'000'000));
    CHECK(pool.bytes() == bytes);
}

TEST_CASE("a payload stays where it is until it has been taken") {
    constexpr std::size_t kRing = 1 << 16;
    Pool pool;
    RemotePayloads payloads(pool, kRing);
    std::byte *const first = payloads.place(cell(0, 10'000));
    CHECK(payloads.place(cell(0, 10'000)) == first); // asked for again
    CHECK(payloads.at(0) == first);
    CHECK(payloads.at(64) == nullptr);
    std::byte *const second = payloads.place(cell(20'032, 10'000));
    CHECK(second != first);
    payloads.taken(20'032);
    CHECK(payloads.at(0) == nullptr);
    CHECK(payloads.at(20'032) == second);
    payloads.taken(20'033);
    CHECK(pool.used() == 0);
}

TEST_CASE("a payload that the sender overwrites has been taken") {
    constexpr std::size_t kRing = 1 << 16;
    Pool pool;
    RemotePayloads payloads(pool, kRing);
    SUBCASE("in the ring of cells") {
        std::byte *const first = payloads.place(cell(0, 10'000));
        // Ends with the ring: the first may still be there.
        const std::uint64_t last = kRing - transport::extent(10'000).cells;
        (void)payloads.place(cell(last, 10'000));
        CHECK(payloads.at(0) == first);
        (void)payloads.place(cell(last + transport::kLineBytes, 10'000));
        CHECK(payloads.at(0) == nullptr);
        CHECK(payloads.at(last) != nullptr);
    }
    SUBCASE("in the bulk ring") {
        std::byte *const first = payloads.place(bulk(0, 1000, 20'000));
        (void)payloads.place(bulk(64, 21'000, 20'000));
        (void)payloads.place(bulk(128, 41'000, 25'536)); // up to where the first begins
        CHECK(payloads.at(0) == first);
        (void)payloads.place(bulk(192, 1000, 64));
        CHECK(payloads.at(0) == nullptr);
        CHECK(payloads.at(64) != nullptr);
    }
    SUBCASE("not by one that was overtaken") {
        std::byte *const later = payloads.place(bulk(128, 1000, 20'000));
        std::byte *const earlier = payloads.place(bulk(64, 30'000, 20'000));
        CHECK(payloads.at(128) == later);
        CHECK(payloads.at(64) == earlier);
        payloads.taken(128);
        CHECK(payloads.at(64) == nullptr);
        CHECK(payloads.at(128) == later);
    }
}

// Long streams of many ranks, each read in part, in calls: what is live is never given to another,
// and the pool stays as large as a call needs.
TEST_CASE("a pool is as large as the payloads of a call, from any senders") {
    constexpr std::size_t kRing = 1 << 20, kSenders = 12, kBytes = 40'000;
    constexpr int kCalls = 300, kFrom = 3, kCells = 6;
    std::mt19937 random(7);
    Pool pool;
    std::vector<RemotePayloads> of(kSenders, RemotePayloads(pool, kRing));
    std::vector<std::uint64_t> positions(kSenders, 0);
    for (int call = 0; call < kCalls; ++call) {
        std::map<std::byte *, std::byte> live;
        for (int from = 0; from < kFrom; ++from) {
            const std::size_t sender = (random() + static_cast<unsigned>(from)) % kSenders;
            for (int i = 0; i < kCells; ++i) {
                std::byte *const memory = of[sender].place(cell(positions[sender], kBytes));
                positions[sender] += transport::extent(kBytes).cells;
                REQUIRE(!live.contains(memory));
                const auto mark = static_cast<std::byte>(random());
                std::memset(memory, static_cast<int>(mark), kBytes);
                live[memory] = mark;
            }
        }
        for (const auto &[memory, mark] : live) {
            REQUIRE(memory[0] == mark);
            REQUIRE(memory[kBytes - 1] == mark);
        }
        for (std::size_t sender = 0; sender < kSenders; ++sender) {
            positions[sender] += transport::extent(kBytes).cells * (random() % 4); // to others
            of[sender].taken(positions[sender]);
        }
        REQUIRE(pool.used() == 0);
    }
    CHECK(pool.bytes() == 2u << 20); // and the rings of all senders are twelve times a MiB
}

namespace {

// What it was told of; it refuses one after so many.
struct User final : transport::MemoryUser {
    std::map<std::byte *, std::size_t> memory;
    std::size_t accepts = SIZE_MAX;

    void use_memory(void *first, std::size_t bytes) override {
        if (accepts == 0)
            throw std::bad_alloc();
        --accepts;
        REQUIRE(memory.emplace(static_cast<std::byte *>(first), bytes).second);
    }
    void release_memory(void *first) noexcept override {
        CHECK(memory.erase(static_cast<std::byte *>(first)) == 1);
    }
    // Whether all of it is in one piece of that memory.
    bool knows(std::byte *first, std::size_t bytes) const {
        const auto after = memory.upper_bound(first);
        return after != memory.begin() &&
               first + bytes <= std::prev(after)->first + std::prev(after)->second;
    }
    std::size_t bytes() const {
        std::size_t sum = 0;
        for (const auto &[first, length] : memory)
            sum += length;
        return sum;
    }
};

} // namespace

TEST_CASE("users of a pool know all of its memory, and each payload lies in one piece of it") {
    User early, late;
    {
        Pool pool;
        pool.add_user(early);
        pool.reserve(3u << 20);
        CHECK(early.bytes() == pool.bytes());
        pool.reserve(1u << 20);
        CHECK(early.memory.size() == 1);
        std::mt19937 random(5);
        std::vector<std::byte *> mine;
        for (int turn = 0; turn < 2000; ++turn) {
            if (mine.size() > 60) {
                const std::size_t which = random() % mine.size();
                pool.give(mine[which]);
                mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(which));
            }
            const std::size_t bytes = 100'000 + random() % 900'000;
            mine.push_back(pool.take(bytes));
            REQUIRE(early.knows(mine.back(), bytes));
        }
        CHECK(early.memory.size() > 1);
        pool.add_user(late);
        CHECK(late.memory == early.memory);
        pool.remove_user(early);
        CHECK(early.memory.empty());
        for (std::byte *const each : mine)
            pool.give(each);
        CHECK(pool.used() == 0);
    }
    CHECK(late.memory.empty());
}

TEST_CASE("a user of a pool that has no memory leaves the others as they were") {
    User first, second;
    Pool pool;
    pool.add_user(first);
    pool.reserve(1u << 20);
    second.accepts = 1;
    pool.add_user(second);
    const std::size_t before = pool.bytes();
    CHECK_THROWS_AS(pool.reserve(before + 1), std::bad_alloc);
    CHECK(pool.bytes() == before);
    CHECK(first.bytes() == before);
    CHECK(second.bytes() == before);
    User third;
    third.accepts = 0;
    CHECK_THROWS_AS(pool.add_user(third), std::bad_alloc);
    pool.remove_user(second);
    pool.reserve(before + 1);
    CHECK(first.bytes() == pool.bytes());
    CHECK(third.bytes() == 0);
}

namespace {

class NoLinks final : public transport::Links {
public:
    std::string place(int) const override { return "elsewhere"; }
    void send(int, const WireMessage &, const std::byte *, bool) override {}
    void push(Which) override {}
    bool progress(Receiver &, const transport::EventSet::Ready &) override { return false; }
    void drop(int) override {}
    bool sent() const override { return true; }
    bool delivered() const override { return true; }
};

} // namespace

TEST_CASE("a user of a rank's memory knows its rings, though there is no memory for more") {
    transport::SegmentShape shape;
    shape.ranks = 2;
    shape.ring_bytes = 1 << 16;
    shape.heap_bytes = 1 << 20;
    shape.placement = transport::Placement({0, 1}, 0);
    const auto segment = transport::Segment::create(shape);
    for (const std::size_t accepted : {0, 1, 2, 3}) { // two rings, and the pool's memory
        CAPTURE(accepted);
        transport::LinkedPeers peers(*segment, 0, std::make_unique<transport::EventSet>(),
                                     std::make_unique<NoLinks>());
        User user;
        user.accepts = accepted;
        if (accepted < 2) {
            CHECK_THROWS_AS(segment->add_memory_user(user), std::bad_alloc);
        } else {
            segment->add_memory_user(user);
            CHECK(user.memory.size() == accepted);
            segment->remove_memory_user(user);
        }
        CHECK(user.memory.empty());
    }
}
