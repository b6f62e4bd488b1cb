// SPDX-License-Identifier: BSD-3-Clause
// Places in device memory, and what ranks publish of it.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "transport/shm/cell.hpp"
#include "transport/shm/delegation.hpp"
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

TEST_CASE("buffers may be used in one call") {
    SharedBuffers buffers{};
    CHECK_FALSE(buffers.of(12));
    const std::uint64_t place = DevicePlace::of(SharedDevice::kListedAllocations - 1, -1);
    buffers.open(12, {place, place + 2, true});
    REQUIRE(buffers.of(12));
    CHECK(buffers.of(12)->output == place);
    CHECK(buffers.of(12)->input == place + 2);
    CHECK(buffers.of(12)->in_place);
    CHECK_FALSE(buffers.of(12)->steps_share);
    CHECK_FALSE(buffers.of(13));
    buffers.open(13, {place + 1, 0, false, true});
    CHECK_FALSE(buffers.of(12));
    REQUIRE(buffers.of(13));
    CHECK(buffers.of(13)->output == place + 1);
    CHECK(buffers.of(13)->input == 0);
    CHECK_FALSE(buffers.of(13)->in_place);
    CHECK(buffers.of(13)->steps_share);
}

TEST_CASE("a rank asks for one pass and hears the answer, call by call") {
    OnePassWords own{}, leader{};
    constexpr std::uint64_t kCall = 5, kLater = kCall + OnePassWords::kCalls;
    using Question = OnePassWords::Question;
    CHECK(own.question(kCall) == Question::none);
    CHECK(own.ask(kCall));
    CHECK(own.ask(kCall + 1)); // has a place of its own
    CHECK(own.question(kCall) == Question::this_call);
    CHECK(own.question(kLater) == Question::older_call);
    CHECK_FALSE(own.ask(kLater));
    CHECK(leader.answer(kCall) == OnePassAnswer::none);
    leader.answer(kCall, OnePassAnswer::done);
    CHECK(leader.answer(kCall) == OnePassAnswer::done);
    CHECK(leader.answer(kLater) == OnePassAnswer::none);
    own.hear(kCall);
    CHECK(own.ask(kLater));
    CHECK(own.question(kCall) == Question::newer_call);
    leader.answer(kLater, OnePassAnswer::by_steps);
    CHECK(leader.answer(kCall) == OnePassAnswer::none);
    CHECK(leader.answer(kLater) == OnePassAnswer::by_steps);
}

namespace {

DelegatedPass some_pass(std::uint64_t bytes) {
    DelegatedPass pass;
    pass.reduces = true;
    pass.dtype = stretto::Dtype::bf16;
    pass.op = stretto::ReduceOp::max;
    pass.rounds_each = true;
    pass.bytes = bytes;
    for (std::uint64_t i = 1; i <= 3; ++i)
        CHECK(pass.add(static_cast<int>(i), DevicePlace::of(7, static_cast<std::int64_t>(i)),
                       pass.ins));
    CHECK(pass.add(70'000, DevicePlace::of(255, -5), pass.outs));
    return pass;
}

} // namespace

TEST_CASE("a delegated pass comes as it was posted, to its delegate only") {
    Delegation slot{};
    DelegatedPass read;
    CHECK(slot.state() == Delegation::State::free);
    CHECK_FALSE(slot.posted(5, read));
    slot.post(5, some_pass(std::uint64_t{1} << 40));
    CHECK_FALSE(slot.posted(4, read));
    const auto word = slot.posted(5, read);
    REQUIRE(word);
    CHECK(read.reduces);
    CHECK(read.rounds_each);
    CHECK(read.dtype == stretto::Dtype::bf16);
    CHECK(read.op == stretto::ReduceOp::max);
    CHECK(read.bytes == std::uint64_t{1} << 40);
    REQUIRE(read.ins == 3);
    REQUIRE(read.outs == 1);
    CHECK(read.places[1].rank == 2);
    CHECK(read.places[1].place == DevicePlace::of(7, 2));
    CHECK(read.places[3].rank == 70'000);
    CHECK(read.places[3].place == DevicePlace::of(255, -5));
    CHECK(slot.take(*word, Delegation::State::taken));
    CHECK_FALSE(slot.cancel());
    slot.fail(stretto::Status::system, std::string(1000, 'x'));
    CHECK(slot.state() == Delegation::State::failed);
    CHECK(slot.why().status() == stretto::Status::system);
    CHECK(std::string(slot.why().what()) == std::string(255, 'x'));
}

TEST_CASE("a pass is taken or taken back, and never for the one before it in its slot") {
    Delegation slot{};
    DelegatedPass read;
    slot.post(1, some_pass(8));
    const auto before = slot.posted(1, read);
    REQUIRE(before);
    CHECK(slot.cancel());
    CHECK(slot.state() == Delegation::State::free);
    CHECK_FALSE(slot.take(*before, Delegation::State::taken));
    slot.post(1, some_pass(16));
    CHECK_FALSE(slot.take(*before, Delegation::State::taken));
    const auto now = slot.posted(1, read);
    REQUIRE(now);
    CHECK(read.bytes == 16);
    CHECK(slot.take(*now, Delegation::State::declined));
    CHECK_FALSE(slot.cancel());
}

TEST_CASE("of a rank that takes a pass and one that takes it back, one succeeds") {
    Delegation slot{};
    std::atomic<int> taken{0}, rounds{0};
    constexpr int kRounds = 2000;
    std::thread delegate([&] {
        DelegatedPass pass;
        while (rounds.load() < kRounds)
            if (const auto word = slot.posted(0, pass);
                word && slot.take(*word, Delegation::State::taken)) {
                taken += pass.bytes == 2 * pass.places[0].place ? 1 : 1'000'000;
                slot.end(Delegation::State::done);
            }
    });
    int returned = 0;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        DelegatedPass pass;
        pass.bytes = 2 * round;
        CHECK(pass.add(0, round, pass.ins));
        slot.post(0, pass);
        if (slot.cancel())
            ++returned;
        else
            while (slot.state() != Delegation::State::done)
                std::this_thread::yield();
        slot.free();
        ++rounds;
    }
    delegate.join();
    CHECK(taken + returned == kRounds);
}

TEST_CASE("a pass with more buffers than there is room for is not posted") {
    DelegatedPass pass;
    for (std::size_t i = 0; i < DelegatedPass::kMostPlaces; ++i)
        CHECK(pass.add(0, 1, pass.ins));
    CHECK_FALSE(pass.add(0, 1, pass.outs));
    pass.clear();
    CHECK_FALSE(pass.add(0, 0, pass.ins)); // no place
    CHECK(pass.add(0, 1, pass.ins));
}
