// SPDX-License-Identifier: BSD-3-Clause
// Every collective, every algorithm, ragged counts, in place and not, private and shared buffers.
#include "doctest.h"

#include <cstring>
#include <memory>
#include <vector>

#include "support/oracle.hpp"
#include "support/world.hpp"

namespace {

using test::check;

// A buffer that starts off a cache line, with guards behind it, private or in the shared heap.
template<class T>
class Buffer {
public:
    Buffer(stretto_comm comm, std::size_t count, bool shared) : comm_(comm), count_(count) {
        const std::size_t bytes = (count + 2 * kGuard) * sizeof(T);
        if (shared)
            check(stretto_alloc(comm, bytes, &memory_));
        else
            memory_ = std::malloc(bytes);
        shared_ = shared;
        std::memset(memory_, 0x5a, bytes);
    }
    ~Buffer() {
        if (shared_)
            stretto_free(comm_, memory_);
        else
            std::free(memory_);
    }
    T *data() { return static_cast<T *>(memory_) + kGuard; }
    T &operator[](std::size_t i) { return data()[i]; }
    bool guards_hold() {
        T guard;
        std::memset(&guard, 0x5a, sizeof(guard));
        bool hold = true;
        for (std::size_t i = 0; i < kGuard; ++i)
            hold = hold && std::memcmp(data() - 1 - i, &guard, sizeof(T)) == 0 &&
                   std::memcmp(data() + count_ + i, &guard, sizeof(T)) == 0;
        return hold;
    }

private:
    static constexpr std::size_t kGuard = 3;
    stretto_comm comm_;
    std::size_t count_;
    void *memory_ = nullptr;
    bool shared_ = false;
};

struct Variant {
    bool in_place, shared;
};
constexpr Variant kVariants[] = {{false, false}, {true, false}, {false, true}, {true, true}};

template<class T>
void allreduce(stretto_comm comm, std::size_t count, stretto_op op, Variant variant) {
    Buffer<T> send(comm, count, variant.shared), recv(comm, count, variant.shared);
    T *input = variant.in_place ? recv.data() : send.data();
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    for (std::size_t i = 0; i < count; ++i)
        input[i] = test::contribution<T>(op, rank, i);
    check(stretto_allreduce(comm, variant.in_place ? STRETTO_IN_PLACE : input, recv.data(), count,
                            test::dtype_of<T>(), op));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
        wrong += recv[i] != test::expected<T>(op, size, i);
    CAPTURE(rank);
    CAPTURE(count);
    CHECK(wrong == 0);
    CHECK(recv.guards_hold());
    CHECK(send.guards_hold());
    check(stretto_barrier(comm)); // shared buffers are freed by their owners
}

// The dtypes and ops take turns, so that all are met by all algorithms.
void allreduce_any(stretto_comm comm, std::size_t count, int turn, Variant variant) {
    const auto op = static_cast<stretto_op>(turn / 4 % 4);
    switch (turn % 4) {
    case 0: return allreduce<float>(comm, count, op, variant);
    case 1: return allreduce<double>(comm, count, op, variant);
    case 2: return allreduce<std::int32_t>(comm, count, op, variant);
    default: return allreduce<std::int64_t>(comm, count, op, variant);
    }
}

constexpr const char *kAlgorithms[] = {"auto",         "one_shot",       "direct",
                                       "linear",       "binomial",       "chain",
                                       "ring",         "segmented_ring", "recursive_doubling",
                                       "rabenseifner", "rabenseifner_32"};

void parts(stretto_comm comm, std::size_t count, Variant variant) {
    using T = std::int64_t;
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    const std::size_t all = count * static_cast<std::size_t>(size);
    const std::size_t mine = count * static_cast<std::size_t>(rank);
    const stretto_op op = STRETTO_SUM;
    const auto fail_unless = [](bool right, const char *what) { CHECK_MESSAGE(right, what); };

    Buffer<T> send(comm, all, variant.shared), recv(comm, all, variant.shared);
    T *input = variant.in_place ? recv.data() : send.data();
    for (std::size_t i = 0; i < all; ++i)
        input[i] = test::contribution<T>(op, rank, i);
    check(stretto_reduce_scatter(comm, variant.in_place ? STRETTO_IN_PLACE : input, recv.data(),
                                 count, STRETTO_INT64, op));
    bool right = true;
    for (std::size_t i = 0; i < count; ++i)
        right = right && recv[i] == test::expected<T>(op, size, mine + i);
    fail_unless(right && recv.guards_hold(), "reduce_scatter");
    check(stretto_barrier(comm));

    input = variant.in_place ? recv.data() + mine : send.data();
    for (std::size_t i = 0; i < count; ++i)
        input[i] = test::contribution<T>(op, rank, i);
    check(stretto_allgather(comm, variant.in_place ? STRETTO_IN_PLACE : input, recv.data(), count,
                            STRETTO_INT64));
    for (int from = 0; from < size; ++from)
        for (std::size_t i = 0; i < count; ++i)
            right = right && recv[static_cast<std::size_t>(from) * count + i] ==
                                 test::contribution<T>(op, from, i);
    fail_unless(right && recv.guards_hold(), "allgather");
    check(stretto_barrier(comm));

    for (int root = 0; root < size; root += std::max(1, size / 3)) {
        for (std::size_t i = 0; i < count; ++i)
            recv[i] = rank == root ? test::contribution<T>(op, root + 77, i) : -1;
        check(stretto_broadcast(comm, recv.data(), count, STRETTO_INT64, root));
        for (std::size_t i = 0; i < count; ++i)
            right = right && recv[i] == test::contribution<T>(op, root + 77, i);
        fail_unless(right, "broadcast");
        check(stretto_barrier(comm));

        const bool here = variant.in_place && rank == root;
        for (std::size_t i = 0; i < count; ++i) {
            (here ? recv : send)[i] = test::contribution<T>(op, rank, i);
            if (!here)
                recv[i] = -9;
        }
        check(stretto_reduce(comm, here ? STRETTO_IN_PLACE : send.data(), recv.data(), count,
                             STRETTO_INT64, op, root));
        for (std::size_t i = 0; i < count; ++i)
            right = right && recv[i] == (rank == root ? test::expected<T>(op, size, i) : -9);
        fail_unless(right, "reduce");
        check(stretto_barrier(comm));
    }
}

} // namespace

TEST_CASE("allreduce is exact for every algorithm, count, dtype, op and kind of buffer") {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 13}) {
        CAPTURE(ranks);
        test::with_ranks(ranks, [&](stretto_comm comm) {
            int turn = 0;
            const auto p = static_cast<std::size_t>(ranks);
            for (const char *algorithm : kAlgorithms) {
                check(stretto_force_algorithm(comm, algorithm));
                for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1,
                                                std::size_t{1009}, std::size_t{70001}})
                    for (const Variant variant : kVariants)
                        allreduce_any(comm, count, turn++, variant);
            }
        });
    }
}

TEST_CASE("the parts are exact") {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        CAPTURE(ranks);
        test::with_ranks(ranks, [&](stretto_comm comm) {
            for (const std::size_t count :
                 {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{20011}})
                for (const Variant variant : kVariants)
                    parts(comm, count, variant);
        });
    }
}

TEST_CASE("tiny rings and slices change nothing but the time") {
    setenv("STRETTO_RING_BYTES", "8K", 1);
    setenv("STRETTO_SLICE_BYTES", "512", 1);
    for (const int ranks : {2, 3, 6}) {
        CAPTURE(ranks);
        test::with_ranks(ranks, [&](stretto_comm comm) {
            int turn = 0;
            for (const char *algorithm : kAlgorithms) {
                check(stretto_force_algorithm(comm, algorithm));
                for (const Variant variant : kVariants)
                    allreduce_any(comm, 9001, turn++, variant);
            }
            check(stretto_force_algorithm(comm, nullptr));
            parts(comm, 3001, kVariants[0]);
        });
    }
    unsetenv("STRETTO_RING_BYTES");
    unsetenv("STRETTO_SLICE_BYTES");
}

TEST_CASE("a rank may run far ahead of rooted collectives") {
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::int32_t> value(3000);
        for (int call = 0; call < 2000; ++call) {
            for (std::size_t i = 0; i < value.size(); ++i)
                value[i] = rank == 1 ? call * 7 + static_cast<int>(i) : -1;
            check(stretto_broadcast(comm, value.data(), value.size(), STRETTO_INT32, 1));
            for (std::size_t i = 0; i < value.size(); i += 499)
                REQUIRE(value[i] == call * 7 + static_cast<int>(i));
        }
    });
}
