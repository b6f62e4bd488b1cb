// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "arrival/history.hpp"

using stretto::arrival::History;
using stretto::arrival::kUnknown;
using stretto::arrival::Stamp;

namespace {

constexpr std::int64_t kMs = 1'000'000;

// A call to which ranks come then.
std::vector<Stamp> at(const std::vector<std::int64_t> &arrivals, std::int64_t took = kUnknown) {
    std::vector<Stamp> stamps;
    for (const std::int64_t each : arrivals)
        stamps.push_back({each, took});
    return stamps;
}

// One to which rank 1 of three comes so many milliseconds late.
std::vector<Stamp> late(std::int64_t ms, std::int64_t start = 0) {
    return at({start, start + ms * kMs, start + kMs});
}

} // namespace

TEST_CASE("nothing is expected before the first call") {
    CHECK(History().expected().empty());
    CHECK(History().calls() == 0);
}

TEST_CASE("what counts is how late a rank is, whenever the call was") {
    History history;
    history.add(late(5, 1000 * kMs));
    CHECK(history.expected() == std::vector<double>{0, 0.005, 0.001});
    history.add(late(5, -77 * kMs));
    CHECK(history.expected() == std::vector<double>{0, 0.005, 0.001});
    CHECK(history.recent().size() == 2);
}

TEST_CASE("three disturbed calls of seven change nothing, the fourth does") {
    History history;
    for (std::size_t i = 0; i < History::kCalls; ++i)
        history.add(late(5));
    for (int i = 0; i < 3; ++i) {
        history.add(late(500));
        CHECK(history.expected() == std::vector<double>{0, 0.005, 0.001});
    }
    history.add(late(500));
    CHECK(history.expected() == std::vector<double>{0, 0.5, 0.001});
    CHECK(history.recent().size() == History::kCalls);
    CHECK(history.calls() == History::kCalls + 4);
}

TEST_CASE("a call with a clock that is not known tells nothing") {
    History history;
    history.add(at({0, kUnknown, 3}));
    CHECK(history.calls() == 0);
    CHECK(history.recent().empty());
}

TEST_CASE("the first to come is expected at 0") {
    // The ranks take turns at being first, so the medians of none is 0.
    History history;
    history.add(at({0, 2 * kMs, 2 * kMs}));
    history.add(at({2 * kMs, 0, 2 * kMs}));
    history.add(at({2 * kMs, 2 * kMs, 0}));
    CHECK(history.expected() == std::vector<double>{0, 0, 0});
}

TEST_CASE("what a call took is told with the next, by all ranks or not at all") {
    History history;
    history.add(at({0, kMs}));
    REQUIRE(history.elapsed().size() == 1);
    CHECK(std::isnan(history.elapsed()[0]));
    history.add(std::vector<Stamp>{{0, 4 * kMs}, {kMs, 2 * kMs}});
    CHECK(history.elapsed()[0] == doctest::Approx(0.003));
    CHECK(std::isnan(history.elapsed()[1]));
    history.add(std::vector<Stamp>{{0, 4 * kMs}, {kMs, kUnknown}});
    CHECK(std::isnan(history.elapsed()[1]));
    // A call that told nothing does not pass what it took on to one before.
    history.add(at({0, kUnknown}, 8 * kMs));
    CHECK(history.elapsed()[2] == doctest::Approx(0.008));
    history.add(at({0, 0}, 9 * kMs));
    CHECK(history.elapsed()[2] == doctest::Approx(0.008));
    CHECK(history.elapsed().size() == 4);
    for (std::size_t i = 0; i < History::kCalls; ++i)
        history.add(at({0, 0}, 5 * kMs));
    CHECK(history.elapsed().size() == History::kCalls);
    CHECK(history.elapsed().front() == doctest::Approx(0.005));
}
