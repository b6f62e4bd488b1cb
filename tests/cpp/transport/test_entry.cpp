// SPDX-License-Identifier: BSD-3-Clause
// What a rank says of its calls is read in one piece, or not at all.
#include "doctest.h"

#include <atomic>
#include <thread>

#include "transport/shm/entry.hpp"

using namespace stretto::transport;

namespace {

// The call of this number; all that is said of it follows from that.
Entered call(std::uint64_t number) {
    return {number + 1,     3 * number + 7,    5 * number,
            7 * number,     4096 * number + 1, {11 * number, 13 * number},
            number % 2 == 1};
}

bool same(const Entered &a, const Entered &b) {
    return a.sequence == b.sequence && a.signature == b.signature && a.count == b.count &&
           a.packed == b.packed && a.output_heap == b.output_heap && a.parameters == b.parameters &&
           a.in_place == b.in_place;
}

} // namespace

TEST_CASE("an entry describes the call that its rank entered last") {
    Entry entry{};
    CHECK_FALSE(entered(entry));
    for (const std::uint64_t number : {0, 8, 16}) {
        enter(entry, call(number));
        REQUIRE(entered(entry));
        CHECK(same(*entered(entry), call(number)));
    }
}

TEST_CASE("a rank that goes on to another call while it is read is not misread") {
    Entry entry{};
    enter(entry, call(3));
    CHECK_FALSE(entered(entry, [&] { enter(entry, call(3 + kEntries)); }));
    // Nor one that has begun to and no more.
    CHECK_FALSE(entered(entry, [&] {
        entry.sequence.store(0, std::memory_order_relaxed);
        entry.signature.store(1, std::memory_order_release);
    }));
    CHECK_FALSE(entered(entry));
}

TEST_CASE("whatever is read while a rank enters one call after the other is of one call") {
    constexpr std::uint64_t kCalls = 200'000;
    Entry entry{};
    std::atomic<bool> ended{false};
    std::thread writer([&] {
        for (std::uint64_t number = 0; number < kCalls; ++number)
            enter(entry, call(number));
        ended.store(true);
    });
    std::uint64_t torn = 0;
    while (!ended.load())
        if (const auto read = entered(entry))
            torn += same(*read, call(read->sequence - 1)) ? 0u : 1u;
    writer.join();
    CHECK(torn == 0);
    REQUIRE(entered(entry));
    CHECK(same(*entered(entry), call(kCalls - 1)));
}
