// SPDX-License-Identifier: BSD-3-Clause
// Places in device memory: arithmetic with them, and what they are told apart from.
#include "doctest.h"

#include <cstdint>

#include "transport/shm/cell.hpp"
#include "transport/shm/shared_device.hpp"

using namespace stretto::transport;

TEST_CASE("a place keeps its slot and its distance, also before the allocation") {
    constexpr std::int64_t kFar = std::int64_t{1} << 47; // addresses have no more bits
    for (unsigned slot = 0; slot < SharedDevice::kListedAllocations; ++slot)
        for (const std::int64_t distance :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, kFar, -kFar}) {
            const std::uint64_t word = DevicePlace::of(slot, distance);
            CHECK(DevicePlace::is_one(word));
            CHECK(DevicePlace(word).slot() == slot);
            CHECK(DevicePlace(word).distance() == distance);
            CHECK(DevicePlace(word - 4096 + 4097).distance() == distance + 1);
            // It fits into a cell.
            const Location where(Location::In::device, static_cast<std::int64_t>(word));
            CHECK(where.in() == Location::In::device);
            CHECK(static_cast<std::uint64_t>(where.offset()) == word);
        }
}

TEST_CASE("no place in the shared heap is one, nor is none") {
    CHECK_FALSE(DevicePlace::is_one(0));
    CHECK_FALSE(DevicePlace::is_one(1));
    CHECK_FALSE(DevicePlace::is_one(std::uint64_t{1} << 46)); // 64 TiB, the largest window
    // The beginning of a vector of which a later part is at the window's beginning.
    CHECK_FALSE(DevicePlace::is_one(1 - (std::uint64_t{1} << 46)));
}

TEST_CASE("a rank reaches the devices that it lists") {
    SharedDevice mine{}, its{};
    CHECK_FALSE(reaches(mine, its)); // neither has said anything
    its.device = 7;
    CHECK_FALSE(reaches(mine, its));
    mine.reaches[2] = 7;
    CHECK(reaches(mine, its));
    its.device = 0; // it has withdrawn
    CHECK_FALSE(reaches(mine, its));
}
