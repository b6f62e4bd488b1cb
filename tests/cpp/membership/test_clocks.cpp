// SPDX-License-Identifier: BSD-3-Clause
// Clocks that are apart, and ways there and back that take different times.
#include "doctest.h"

#include <cstdint>
#include <cstdlib>
#include <random>

#include "membership/clocks.hpp"

using namespace stretto::membership;

namespace {

// The reference is ahead by `offset`; it answers after 500 ns.
ClockReading reading(std::uint64_t sent, std::int64_t offset, std::uint64_t there,
                     std::uint64_t back) {
    const std::uint64_t arrived = sent + there + static_cast<std::uint64_t>(offset);
    return {sent, arrived, arrived + 500, sent + there + 500 + back};
}

} // namespace

TEST_CASE("equal ways give the offset exactly, unequal ones within the error") {
    for (const std::int64_t offset : {0L, 5L, -7'000'000'000L, 1L << 60, -(1L << 60)}) {
        CAPTURE(offset);
        ClockFilter filter;
        CHECK_FALSE(filter.estimate(0));
        filter.add(reading(1'000'000, offset, 20'000, 20'000));
        CHECK(filter.estimate(1'040'500)->offset == offset);
        CHECK(filter.estimate(1'040'500)->error == 20'000);
        filter.add(reading(2'000'000, offset, 1'000, 9'000)); // quicker: it counts
        const Offset best = *filter.estimate(2'010'500);
        CHECK(best.error == 5'000);
        CHECK(std::abs(best.offset - offset) == 4'000);
    }
}

TEST_CASE("the quickest of many readings comes close, whatever the delays") {
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        const auto offset = static_cast<std::int64_t>(random()) * 1000 - (1L << 40);
        ClockFilter filter;
        std::uint64_t now = 1'000'000;
        for (int i = 0; i < 200; ++i) {
            // At least 20 us each way, and mostly more; in bursts much more.
            const auto delay = [&] {
                return 20'000 + random() % 30'000 + (random() % 4 == 0 ? random() % 5'000'000 : 0);
            };
            const ClockReading each = reading(now, offset, delay(), delay());
            filter.add(each);
            now = each.back + 1'000'000;
            const Offset best = *filter.estimate(now);
            CHECK(std::abs(best.offset - offset) <= static_cast<std::int64_t>(best.error));
            if (i >= 16)
                CHECK(best.error < 60'000);
        }
    }
}

TEST_CASE("clocks that drift are followed: an old reading gives way to a new one") {
    ClockFilter filter;
    // The reference gains 20 us in each second; the first reading is the quickest.
    for (std::uint64_t second = 0; second < 100; ++second) {
        const auto offset = static_cast<std::int64_t>(second * 20'000);
        const std::uint64_t sent = second * 1'000'000'000;
        filter.add(
            reading(sent, offset, second == 0 ? 1'000 : 30'000, second == 0 ? 1'000 : 30'000));
        const Offset best = *filter.estimate(sent + 60'500);
        CHECK(std::abs(best.offset - offset) <= static_cast<std::int64_t>(best.error));
        CHECK(best.error <= 52'000);
    }
}

TEST_CASE("what cannot be is no reading") {
    ClockFilter filter;
    filter.add({100, 5, 6, 99});    // back before it was sent
    filter.add({100, 6, 5, 200});   // left before it arrived
    filter.add({100, 5, 500, 200}); // longer there than it took
    CHECK(filter.readings() == 0);
    filter.add({0, UINT64_MAX, UINT64_MAX, UINT64_MAX}); // as far as numbers go
    CHECK(filter.readings() == 1);
    CHECK(filter.estimate(0));
}

TEST_CASE("the table is published when all have reported, and again when it has changed") {
    ClockTable table(3), other(3);
    const RankSet members = RankSet::all(3);
    table.report(1, {500, 10});
    CHECK_FALSE(table.publish(0, members));
    table.report(2, {-700, 10});
    const auto first = table.publish(0, members);
    REQUIRE(first);
    CHECK(first->version == 1);
    CHECK(first->of_rank == std::vector<std::int64_t>{0, 500, -700});
    table.report(1, {505, 10}); // within the error
    CHECK_FALSE(table.publish(0, members));
    table.report(1, {550, 10});
    const auto second = table.publish(0, members);
    REQUIRE(second);
    CHECK(second->version == 2);

    other.hold(*second);
    other.hold(*first); // came late
    CHECK(other.latest() == second);
    CHECK_FALSE(other.version(1));
    CHECK(table.version(1) == first);
    CHECK(table.version(2) == second);
    CHECK_FALSE(table.version(3));

    // The next epoch has another reference, which may not have seen the last version.
    RankSet two = members;
    two.erase(0);
    other.start_over(1);
    CHECK_FALSE(other.publish(1, two));
    other.report(2, {-1200, 10});
    const auto third = other.publish(1, two);
    REQUIRE(third);
    CHECK(third->reference == 1);
    CHECK(third->version > second->version + 1000);
    table.hold(*third);
    CHECK(table.latest() == third);
}
