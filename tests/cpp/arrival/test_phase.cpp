// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cstdint>

#include "arrival/phase.hpp"

using stretto::arrival::Phase;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kCall = 1;

// Phases of such length, one after the other, that end in the same call, to which the first rank
// comes 10 ms after their beginning.
void live(Phase &phase, std::uint64_t &now, std::uint64_t ms, int times) {
    for (int i = 0; i < times; ++i) {
        phase.begin(now);
        now += ms * kMs;
        phase.end(now, kCall);
        phase.came((static_cast<std::int64_t>(ms) - 10) * static_cast<std::int64_t>(kMs));
        now += kMs;
    }
}

} // namespace

TEST_CASE("who does not know when the first comes has nothing to tell") {
    Phase phase;
    std::uint64_t now = 77;
    CHECK(!phase.edge(now, 0.5)); // there is no phase
    for (std::size_t i = 0; i < Phase::kFewestCalls; ++i) {
        phase.begin(now);
        CHECK(!phase.edge(now + kMs, 0.5));
        CHECK(phase.end(now + 2 * kMs, kCall)); // but it was asked
        CHECK(!phase.edge(now + 2 * kMs, 0.5)); // the phase is over
        phase.came(0);
        phase.came(0); // once for each
    }
    phase.begin(now);
    CHECK(phase.edge(now + kMs, 0.5)->late == 0);
    phase.end(now + 9 * kMs, kCall); // a call that does not show when ranks came
    phase.begin(now);
    phase.came(0);
    CHECK(phase.edge(now + kMs, 0.5)->late == 0);
}

TEST_CASE("a phase ends as much later than its middle as that was after its beginning") {
    Phase phase;
    std::uint64_t now = 0;
    live(phase, now, 10, 7);
    phase.begin(now);
    CHECK(phase.edge(now + 5 * kMs, 0.5)->late == 0);
    CHECK(phase.edge(now + 5 * kMs, 0.5)->end == now + 10 * kMs);
    CHECK(phase.edge(now + 9 * kMs, 0.5)->end == now + 18 * kMs);
    CHECK(phase.edge(now + 9 * kMs, 0.5)->late == 8 * static_cast<std::int64_t>(kMs));
    CHECK(phase.edge(now + 12 * kMs, 0.8)->late == 5 * static_cast<std::int64_t>(kMs));
    CHECK(phase.edge(now + 8 * kMs, 1)->late == -2 * static_cast<std::int64_t>(kMs));
    CHECK(phase.end(now + 9 * kMs, kCall));
    phase.begin(now);
    CHECK(!phase.end(now + 9 * kMs, kCall)); // nobody asked in this one
}

TEST_CASE("how long a rank itself computes changes nothing of when the first comes") {
    Phase phase;
    std::uint64_t now = 0;
    for (const std::uint64_t ms : {10, 500, 40, 10, 333, 90, 77, 11})
        live(phase, now, ms, 1);
    phase.begin(now);
    CHECK(phase.edge(now + 5 * kMs, 0.5)->late == 0);
    CHECK(phase.edge(now + 15 * kMs, 0.5)->late == 20 * static_cast<std::int64_t>(kMs));
}

TEST_CASE("three calls of seven to which the first came late change nothing") {
    Phase phase;
    std::uint64_t now = 0;
    live(phase, now, 10, 4);
    for (int i = 0; i < 4; ++i) {
        phase.begin(now);
        CHECK(phase.edge(now + 5 * kMs, 0.5)->late == 0);
        phase.end(now + 500 * kMs, kCall);
        phase.came(0);
    }
    phase.begin(now);
    CHECK(phase.edge(now + 250 * kMs, 0.5)->late == 0);
    // The first may come before this rank begins to compute.
    for (int i = 0; i < 4; ++i) {
        phase.begin(now);
        phase.end(now + 10 * kMs, kCall);
        phase.came(200 * kMs);
    }
    phase.begin(now);
    CHECK(phase.edge(now + 5 * kMs, 0.5)->late == 200 * static_cast<std::int64_t>(kMs));
}

TEST_CASE("phases that end in another call have a habit of their own") {
    Phase phase;
    std::uint64_t now = 0;
    live(phase, now, 10, 7);
    phase.begin(now);
    phase.end(now + 20 * kMs, kCall + 1);
    phase.begin(now);
    CHECK(phase.coming() == kCall + 1); // what is not known better comes again
    CHECK(!phase.edge(now + kMs, 0.5));
    CHECK(!Phase().end(0, kCall)); // a call without a phase before
}

TEST_CASE("of calls that take turns each has its habit, and is known to come") {
    for (const std::uint64_t calls : {1, 2, 3, 7}) {
        CAPTURE(calls);
        Phase phase;
        std::uint64_t now = 0;
        for (int turn = 0; turn < 8; ++turn)
            for (std::uint64_t call = 0; call < calls; ++call) { // 0: one that ends no phase
                const std::uint64_t length = 10 * (call + 1) * kMs;
                phase.begin(now);
                const auto foreseen = phase.edge(now + length / 2, 0.5);
                if (turn > 4) {
                    CHECK(phase.coming() == call);
                    CHECK(foreseen.has_value() == (call != Phase::kNone));
                    CHECK((!foreseen || foreseen->late == 0));
                }
                now += length;
                if (call != Phase::kNone) {
                    CHECK(phase.end(now, call));
                    phase.came(0);
                }
            }
    }
}

TEST_CASE("a call that is left out once is waited for the next time") {
    Phase phase;
    std::uint64_t now = 0;
    const auto end = [&](std::uint64_t call) {
        phase.begin(now);
        const bool known = phase.coming() == call;
        now += kMs;
        phase.end(now, call);
        return known;
    };
    for (int turn = 0; turn < 3; ++turn)
        for (const std::uint64_t call : {1, 2, 3})
            end(call);
    CHECK(end(1));
    CHECK(!end(3));
    CHECK(end(1));
    CHECK(!end(2)); // 3 was last after it
    CHECK(end(3));
    CHECK(end(1));
    CHECK(end(2));
}
