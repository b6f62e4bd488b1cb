// SPDX-License-Identifier: BSD-3-Clause
// gatherv, scatterv and alltoallv with buffers in memory of a device, on some ranks or on all.
#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "device/on_device.hpp"
#include "device/streams_of_program.hpp"
#include "support/buffer.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using Numbers = test::Buffer<std::int32_t>;
using Sizes = std::vector<std::size_t>;

constexpr std::int32_t kUntouched = 0x5a5a5a5a;

std::int32_t element(int from, int to, std::size_t i) {
    return static_cast<std::int32_t>(from * 1'000'003 + to * 10'007 + static_cast<int>(i));
}

// What rank `from` sends to rank `to`, the same on all ranks: nothing, little, or more than goes
// through the rings at once.
std::size_t count(unsigned seed, int from, int to) {
    std::minstd_rand random(seed * 64 + static_cast<unsigned>(from * 8 + to) + 1);
    random.discard(3);
    constexpr std::size_t kMost[] = {1, 10, 1025, 20'000, 100'000};
    return random() % 5 == 0 ? 0 : random() % kMost[random() % 5];
}

// A buffer with a part for each rank, with gaps and backwards, or one after the other.
struct Parts {
    Parts(stretto_comm comm, const Sizes &sizes, bool is_packed, bool on_device)
        : counts(sizes), packed(is_packed), buffer(comm, room(), false, 4, on_device) {
        for (std::size_t i = 0; i < room(); ++i)
            buffer.set(i, kUntouched);
    }
    std::size_t room() const {
        std::size_t sum = 5;
        for (const std::size_t each : counts)
            sum += each + 2;
        return sum;
    }
    Sizes places() const {
        Sizes result(counts.size());
        std::size_t next = packed ? 0 : 3;
        for (std::size_t k = 0; k < counts.size(); ++k) {
            const std::size_t r = packed ? k : counts.size() - 1 - k;
            result[r] = next;
            next += counts[r] + (packed ? 0 : 2);
        }
        return result;
    }
    template<class Value>
    void fill(const Value &value) {
        const Sizes where = places();
        for (std::size_t r = 0; r < counts.size(); ++r)
            for (std::size_t i = 0; i < counts[r]; ++i)
                buffer.set(where[r] + i, value(static_cast<int>(r), i));
    }
    template<class Value>
    bool holds(const Value &value) {
        std::vector<std::int32_t> right(room(), kUntouched);
        const Sizes where = places();
        for (std::size_t r = 0; r < counts.size(); ++r)
            for (std::size_t i = 0; i < counts[r]; ++i)
                right[where[r] + i] = value(static_cast<int>(r), i);
        bool same = buffer.guards_hold();
        for (std::size_t i = 0; i < right.size(); ++i)
            same = same && buffer.get(i) == right[i];
        return same;
    }

    const Sizes counts;
    const bool packed;
    Numbers buffer;
};

Sizes sizes_of(unsigned seed, int rank, int ranks, bool sends) {
    Sizes result;
    for (int r = 0; r < ranks; ++r)
        result.push_back(sends ? count(seed, rank, r) : count(seed, r, rank));
    return result;
}

// Bits of the seed: nonblocking, packed, in place; and, by rank, which buffers are on the device,
// and whether a nonblocking call is ordered by a stream.
struct Way {
    Way(unsigned seed, int rank)
        : overlaps((seed & 1) != 0), packed((seed & 2) != 0), in_place((seed & 4) != 0),
          sends_device((seed + static_cast<unsigned>(rank)) % 3 != 0),
          receives_device((seed + static_cast<unsigned>(rank) * 2) % 5 > 1),
          ordered((seed / 2 + static_cast<unsigned>(rank)) % 4 != 0) {}
    bool overlaps, packed, in_place, sends_device, receives_device, ordered;
};

// A nonblocking call, whose buffers are written before, belongs to a stream that stands still until
// the request is waited for.
class MaybeOrdered {
public:
    MaybeOrdered(test::OnDevice &device, bool ordered) {
        device.settle(); // streams of the test do not wait for what buffers were given
        if (!ordered)
            return;
        stream_.emplace();
        check(stretto_stream_begin(stream_->handle()));
    }
    void wait(stretto_request &request) {
        if (!stream_)
            return check(stretto_wait(&request));
        check(stretto_stream_end());
        int done = 0;
        check(stretto_test(&request, &done));
        CHECK((done == 0 || request == nullptr));
        stream_->open();
        check(stretto_wait(&request));
    }

    void *handle() const { return stream_->handle(); }

private:
    std::optional<test::Stream> stream_;
};

void play_alltoallv(test::OnDevice &device, stretto_comm comm, unsigned seed) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const Way way(seed, rank);
    Parts send(comm, sizes_of(seed, rank, ranks, true), way.packed, way.sends_device),
        recv(comm, sizes_of(seed, rank, ranks, false), way.packed, way.receives_device);
    const auto leaves = [&](int r, std::size_t i) { return element(rank, r, i); };
    send.fill(leaves);
    const Sizes from = send.places(), to = recv.places();
    stretto_request request = nullptr;
    void *const sent = send.buffer.data(), *const received = recv.buffer.data();
    if (way.overlaps) {
        MaybeOrdered order(device, way.ordered);
        check(stretto_ialltoallv(comm, sent, send.counts.data(), way.packed ? nullptr : from.data(),
                                 received, recv.counts.data(), way.packed ? nullptr : to.data(),
                                 STRETTO_INT32, &request));
        order.wait(request);
    } else {
        check(stretto_alltoallv(comm, sent, send.counts.data(), way.packed ? nullptr : from.data(),
                                received, recv.counts.data(), way.packed ? nullptr : to.data(),
                                STRETTO_INT32));
    }
    CHECK(send.holds(leaves));
    CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
}

void play_rooted(test::OnDevice &device, stretto_comm comm, unsigned seed, int root) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const Way way(seed, rank);
    const bool in_place = way.in_place && rank == root;
    const auto whole = [&](int r, std::size_t i) { return element(r, root, i); };
    Parts all(comm, rank == root ? sizes_of(seed, root, ranks, false) : Sizes(), way.packed,
              way.receives_device);
    const std::size_t own_count = count(seed, rank, root);
    const Sizes places = all.places();
    const std::size_t *const counts = rank == root ? all.counts.data() : nullptr;
    const std::size_t *const where = rank == root && !way.packed ? places.data() : nullptr;
    void *const buffer = rank == root ? all.buffer.data() : nullptr;
    stretto_request request = nullptr;

    Numbers own(comm, own_count, false, 4, way.sends_device);
    for (std::size_t i = 0; i < own_count; ++i)
        own.set(i, whole(rank, i));
    if (in_place) { // it lies there already
        for (std::size_t i = 0; i < own_count; ++i)
            all.buffer.set(places[static_cast<std::size_t>(root)] + i, whole(rank, i));
        (void)all.buffer.data();
    }
    const void *const send = in_place ? STRETTO_IN_PLACE : own.data();
    if (way.overlaps) {
        MaybeOrdered order(device, way.ordered);
        check(stretto_igatherv(comm, send, own_count, buffer, counts, where, STRETTO_INT32, root,
                               &request));
        order.wait(request);
    } else
        check(stretto_gatherv(comm, send, own_count, buffer, counts, where, STRETTO_INT32, root));
    if (rank == root)
        CHECK(all.holds(whole));

    Numbers back(comm, own_count, false, 60, !way.sends_device);
    (void)(rank == root ? all.buffer.data() : nullptr);
    void *const recv = in_place ? const_cast<void *>(STRETTO_IN_PLACE) : back.data();
    if (way.overlaps) {
        MaybeOrdered order(device, way.ordered);
        check(stretto_iscatterv(comm, buffer, counts, where, recv, own_count, STRETTO_INT32, root,
                                &request));
        order.wait(request);
    } else
        check(stretto_scatterv(comm, buffer, counts, where, recv, own_count, STRETTO_INT32, root));
    bool right = back.guards_hold();
    for (std::size_t i = 0; i < own_count; ++i)
        right = right && back.get(i) == (in_place ? kUntouched : whole(rank, i));
    CHECK(right);
}

} // namespace

TEST_CASE("parts of all sizes reach their places, from any memory to any, in any order") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const int ranks : {1, 2, 3, 5})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            for (unsigned seed = 0; seed < 24; ++seed) {
                play_alltoallv(device, comm, seed);
                play_rooted(device, comm, seed, static_cast<int>(seed) % ranks);
            }
        });
}

TEST_CASE("alltoallv in place on the device exchanges parts of one size for each pair") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const std::size_t unit :
         {std::size_t{0}, std::size_t{1}, std::size_t{3000}, std::size_t{90'000}})
        test::with_ranks(3, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            const auto size = [&](int r) { return static_cast<std::size_t>(r + rank) * unit + 1; };
            Parts recv(comm, {size(0), size(1), size(2)}, false, rank != 1);
            recv.fill([&](int r, std::size_t i) { return element(rank, r, i); });
            const Sizes places = recv.places();
            check(stretto_alltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, recv.buffer.data(),
                                    recv.counts.data(), places.data(), STRETTO_INT32));
            CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
            for (const bool ordered : {true, rank == 0}) { // and back, twice
                void *const data = recv.buffer.data();
                MaybeOrdered order(device, ordered);
                stretto_request request = nullptr;
                check(stretto_ialltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, data,
                                         recv.counts.data(), places.data(), STRETTO_INT32,
                                         &request));
                order.wait(request);
            }
            CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
        });
}

TEST_CASE("they take their turn among calls of a stream that stands still") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    constexpr std::size_t kCount = 1003;
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        Numbers x(comm, kCount, false, 0, true), y(comm, 3 * kCount, false, 0, true);
        for (std::size_t i = 0; i < kCount; ++i)
            x.set(i, rank + static_cast<std::int32_t>(i));
        const Sizes counts(3, kCount), same_place(3, 0);
        void *const from = x.data(), *const to = y.data();
        MaybeOrdered order(device, true);
        for (int call = 0; call < 3; ++call) { // sums, then all get that of each
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, from, kCount, STRETTO_INT32,
                                     STRETTO_SUM, nullptr));
            check(stretto_ialltoallv(comm, from, counts.data(), same_place.data(), to,
                                     counts.data(), nullptr, STRETTO_INT32, nullptr));
        }
        stretto_request last = nullptr;
        check(stretto_ibarrier(comm, &last));
        order.wait(last);
        check(stretto_stream_synchronize(from, order.handle()));
        bool right = true;
        for (std::size_t i = 0; i < 3 * kCount; ++i)
            right = right && y.get(i) == 27 * (1 + static_cast<std::int32_t>(i % kCount));
        CHECK(right);
    });
}

TEST_CASE("they take their turn among calls on the device, in flight or not") {
    test::OnDevice device;
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        constexpr std::size_t kCount = 100'003;
        for (unsigned seed = 0; seed < 4; ++seed) {
            Numbers x(comm, kCount, false, 0), sum(comm, kCount, false, 0);
            for (std::size_t i = 0; i < kCount; ++i)
                x.set(i, rank + static_cast<std::int32_t>(i));
            Parts send(comm, {50'000, 3, 70'000}, true, true), recv(comm,
                                                                    Sizes(3, rank == 1   ? 3
                                                                             : rank == 0 ? 50'000
                                                                                         : 70'000),
                                                                    true, true);
            send.fill([&](int r, std::size_t i) { return element(rank, r, i); });
            stretto_request requests[2] = {};
            check(stretto_iallreduce(comm, x.data(), sum.data(), kCount, STRETTO_INT32, STRETTO_SUM,
                                     &requests[0]));
            check(stretto_ialltoallv(comm, send.buffer.data(), send.counts.data(), nullptr,
                                     recv.buffer.data(), recv.counts.data(), nullptr, STRETTO_INT32,
                                     &requests[1]));
            play_alltoallv(device, comm, seed);
            for (const int i : {rank % 2, 1 - rank % 2})
                check(stretto_wait(&requests[i]));
            bool right = true;
            for (std::size_t i = 0; i < kCount; ++i)
                right = right && sum.get(i) == 3 + 3 * static_cast<std::int32_t>(i);
            CHECK(right);
            CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
        }
    });
}
