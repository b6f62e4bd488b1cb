// SPDX-License-Identifier: BSD-3-Clause
// Places in device memory, and what ranks publish of it.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "transport/shm/cell.hpp"
#include "transport/shm/shared_device.hpp"

using namespace stretto::transport;

TEST_CASE("a place keeps its slot and its distance, also before the allocation") {
    constexpr std::int64_t kFar = std::int64_t{1} << 47; // addresses have no more bits
    for (unsigned slot = 0; slot < SharedDevice::kListedAllocations; ++slot)
        for (const std::int64_t distance :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, kFar, -kFar}) {
            const std::uint64_t word = DevicePlace::of(slot, distance);
            CHECK(word != 0);
            CHECK(DevicePlace(word).slot() == slot);
            CHECK(DevicePlace(word).distance() == distance);
            CHECK(DevicePlace(word - 4096 + 4097).distance() == distance + 1);
            // It fits into a cell.
            const Location where(Location::In::device, static_cast<std::int64_t>(word));
            CHECK(where.in() == Location::In::device);
            CHECK(static_cast<std::uint64_t>(where.offset()) == word);
        }
}

TEST_CASE("a rank reaches the devices that it lists") {
    SharedDevice mine{}, its{};
    CHECK_FALSE(reaches(mine, its)); // neither has said anything
    its.device = 7;
    CHECK_FALSE(reaches(mine, its));
    mine.reaches[2] = 7;
    CHECK(reaches(mine, its));
    its.device = 8;
    CHECK_FALSE(reaches(mine, its));
}

static SharedAllocation numbered(std::uint64_t number) {
    SharedAllocation allocation{number, number, number, number, {}};
    allocation.handle.fill(static_cast<unsigned char>(number));
    return allocation;
}

static bool is_one(const SharedAllocation &found) {
    return found.base == found.process && found.bytes == found.process &&
           found.buffer == found.process &&
           found.handle.front() == static_cast<unsigned char>(found.process) &&
           found.handle.back() == found.handle.front();
}

TEST_CASE("a slot says what its owner lists, and listings of all ranks are counted") {
    std::atomic<std::uint64_t> listings{0};
    SharedSlot one{}, other{};
    CHECK_FALSE(one.used());
    CHECK_FALSE(one.read().has_value());
    one.list(numbered(5), listings);
    other.list(numbered(6), listings);
    CHECK(one.used());
    CHECK(one.number() == 1);
    CHECK(other.number() == 2);
    CHECK(listings == 2);
    CHECK(one.read()->buffer == 5);
    one.list(numbered(7), listings);
    CHECK(one.number() == 3);
    CHECK(one.read()->buffer == 7);
    one.clear();
    CHECK_FALSE(one.read().has_value());
    CHECK(one.used());
    CHECK(listings == 3);
}

TEST_CASE("a refusal is of one listing") {
    std::atomic<std::uint64_t> listings{0};
    SharedSlot slot{};
    CHECK(slot.refusal().error == 0);
    slot.list(numbered(1), listings);
    std::uint32_t turn = 0, later = 0;
    REQUIRE(slot.read(turn).has_value());
    slot.refuse(turn, {1'000'000, 999});
    CHECK(slot.refusal().rank == 1'000'000);
    CHECK(slot.refusal().error == 999);
    slot.list(numbered(2), listings);
    CHECK(slot.refusal().error == 0);
    slot.refuse(turn, {1, 2}); // late: of what was there before
    CHECK(slot.refusal().error == 0);
    REQUIRE(slot.read(later).has_value());
    CHECK(later != turn);
}

TEST_CASE("nobody reads a listing of which a part is of another one") {
    std::atomic<std::uint64_t> listings{0};
    SharedSlot slot{};
    std::atomic<bool> done{false};
    std::thread owner([&] {
        for (std::uint64_t number = 1; number < 50'000; ++number)
            if (number % 7 == 0)
                slot.clear();
            else
                slot.list(numbered(number), listings);
        done = true;
    });
    std::size_t torn = 0;
    while (!done)
        if (const std::optional<SharedAllocation> found = slot.read())
            torn += !is_one(*found);
    owner.join();
    CHECK(torn == 0);
}

TEST_CASE("an output may be written in one call") {
    SharedOutput output{};
    CHECK(output.of(12).place == 0);
    const std::uint64_t place = DevicePlace::of(SharedDevice::kListedAllocations - 1, -1);
    output.open(12, {place, true});
    CHECK(output.of(12).place == place);
    CHECK(output.of(12).in_place);
    CHECK(output.of(13).place == 0);
    output.open(13, {place + 1, false});
    CHECK(output.of(12).place == 0);
    CHECK(output.of(13).place == place + 1);
    CHECK_FALSE(output.of(13).in_place);
}
