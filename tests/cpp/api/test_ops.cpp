// SPDX-License-Identifier: BSD-3-Clause
// Operations of the caller's own: user-defined ones and premultiplied sums.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/buffer.hpp"
#include "support/hosts.hpp"
#include "support/oracle.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using stretto::schedule::Collective;
using test::check;

namespace {

// x -> scale * x + shift modulo 2^32, in one number: composing such maps is associative and exact,
// but not commutative.
std::uint64_t affine(std::uint32_t scale, std::uint32_t shift) {
    return static_cast<std::uint64_t>(scale) << 32 | shift;
}
std::uint64_t composed(std::uint64_t first, std::uint64_t second) {
    const auto a = static_cast<std::uint32_t>(first >> 32), b = static_cast<std::uint32_t>(first);
    const auto c = static_cast<std::uint32_t>(second >> 32), d = static_cast<std::uint32_t>(second);
    return affine(a * c, b * c + d);
}
std::uint64_t map_of(int rank, std::size_t index) {
    const std::uint64_t bits = test::mixed(rank, index);
    return bits | std::uint64_t{1} << 32; // an odd scale
}
std::uint64_t composed_of(int ranks, std::size_t index) {
    std::uint64_t result = map_of(0, index);
    for (int rank = 1; rank < ranks; ++rank)
        result = composed(result, map_of(rank, index));
    return result;
}

std::atomic<int> wrong_calls{0};

void compose(const void *in, void *inout, std::size_t count, stretto_dtype dtype, void *context) {
    wrong_calls += dtype != STRETTO_UINT64 || context != &wrong_calls ||
                   reinterpret_cast<std::uintptr_t>(in) % 8 != 0 ||
                   reinterpret_cast<std::uintptr_t>(inout) % 8 != 0;
    const auto *left = static_cast<const std::uint64_t *>(in);
    auto *right = static_cast<std::uint64_t *>(inout);
    for (std::size_t i = 0; i < count; ++i)
        right[i] = composed(left[i], right[i]);
}

// A created operation, until the end of the block.
class Op {
public:
    Op(stretto_op_function function, void *context, bool commutative) {
        check(stretto_op_create(function, context, commutative, &op_));
    }
    template<class T>
    explicit Op(T factor) {
        check(stretto_op_create_premul_sum(&factor, static_cast<stretto_dtype>(test::dtype_of<T>()),
                                           &op_));
    }
    ~Op() { free(); }
    Op(const Op &) = delete;
    Op &operator=(const Op &) = delete;
    void free() {
        if (op_ != STRETTO_SUM)
            check(stretto_op_free(op_));
        op_ = STRETTO_SUM;
    }
    operator stretto_op() const { return op_; }

private:
    stretto_op op_ = STRETTO_SUM;
};

using Numbers = test::Buffer<std::uint64_t>;
using test::contains;

// The maps of all ranks composed, in place or not, by one collective; the number of wrong elements.
std::size_t compose_all(stretto_comm comm, Collective collective, stretto_op op, std::size_t count,
                        int turn) {
    const int ranks = stretto_size(comm), rank = stretto_rank(comm), root = turn % ranks;
    const bool scatters = collective == Collective::reduce_scatter;
    const bool has_result = collective != Collective::reduce || rank == root;
    const bool in_place = turn % 2 == 1 && has_result, shared = turn / 2 % 2 == 1;
    const std::size_t sent = scatters ? count * static_cast<std::size_t>(ranks) : count;
    const std::size_t first = scatters ? count * static_cast<std::size_t>(rank) : 0;
    // An element may lie anywhere: the operation sees it aligned.
    Numbers send(comm, sent, shared, turn % 3 == 0 ? 4 : 0);
    Numbers recv(comm, sent, shared, turn % 5 == 0 ? 3 : 8);
    for (std::size_t i = 0; i < sent; ++i)
        (in_place ? recv : send).set(i, map_of(rank, i));
    const void *const input = in_place ? STRETTO_IN_PLACE : send.data();
    switch (collective) {
    case Collective::reduce:
        check(stretto_reduce(comm, input, recv.data(), count, STRETTO_UINT64, op, root));
        break;
    case Collective::reduce_scatter:
        check(stretto_reduce_scatter(comm, input, recv.data(), count, STRETTO_UINT64, op));
        break;
    default: check(stretto_allreduce(comm, input, recv.data(), count, STRETTO_UINT64, op));
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; has_result && i < count; ++i)
        wrong += recv.get(i) != composed_of(ranks, first + i);
    return wrong;
}

} // namespace

TEST_CASE("an operation that does not commute sees the ranks in their order") {
    const Op op(&compose, &wrong_calls, false);
    for (int ranks = 1; ranks <= (test::full_tier() ? 16 : 8); ++ranks)
        test::with_ranks(ranks, [&](stretto_comm comm) {
            int turn = 0;
            for (const auto &algorithm : stretto::algorithms::all()) {
                const bool reduces = algorithm.collective == Collective::allreduce ||
                                     algorithm.collective == Collective::reduce ||
                                     algorithm.collective == Collective::reduce_scatter;
                if (!reduces || !algorithm.runs(ranks) ||
                    !algorithm.order_preserving(test::problem_of({&algorithm, {}}, ranks)))
                    continue;
                CAPTURE(algorithm.name);
                check(stretto_force_algorithm(comm, std::string(algorithm.name).c_str()));
                for (const std::size_t count : {0, 1, 67, 3001})
                    CHECK(compose_all(comm, algorithm.collective, op, count, turn++) == 0);
            }
            check(stretto_force_algorithm(comm, nullptr));
            for (const auto collective :
                 {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
                for (const std::size_t count : {5, 40'009})
                    CHECK(compose_all(comm, collective, op, count, turn++) == 0);
        });
    CHECK(wrong_calls == 0);
}

TEST_CASE("ranks compare the kind of an operation, not its identity") {
    std::barrier all_left(3); // a failure that others post earlier ends the first call as well
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::unique_ptr<Op>> others; // so that numbers differ
        for (int k = 0; k < rank; ++k)
            others.push_back(std::make_unique<Op>(&compose, &wrong_calls, false));
        const Op op(&compose, &wrong_calls, false), loose(&compose, &wrong_calls, true);
        CHECK(compose_all(comm, Collective::allreduce, op, 100, 0) == 0);
        all_left.arrive_and_wait();
        std::uint64_t value = 1;
        CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_UINT64,
                                rank == 2 ? loose : op) == STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "1 x uint64, user-defined)"));
        CHECK(contains(stretto_last_error(), "1 x uint64, user-defined and not commutative)"));
    });
}

TEST_CASE("each operation is itself, though their calls look alike") {
    static const auto add = [](const void *in, void *inout, std::size_t count, stretto_dtype,
                               void *context) {
        for (std::size_t i = 0; i < count; ++i)
            static_cast<std::int32_t *>(inout)[i] += static_cast<const std::int32_t *>(in)[i] +
                                                     *static_cast<const std::int32_t *>(context);
    };
    std::int32_t ten = 10, hundred = 100;
    const Op first(add, &ten, true), second(add, &hundred, true);
    test::with_ranks(2, [&](stretto_comm comm) {
        for (int call = 0; call < 4; ++call) {
            std::int32_t value = stretto_rank(comm);
            check(stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT32,
                                    call % 2 == 0 ? first : second));
            CHECK(value == (call % 2 == 0 ? 11 : 101));
        }
    });
}

TEST_CASE("requests keep their operation") {
    test::with_ranks(3, [](stretto_comm comm) {
        constexpr std::size_t count = 20'000;
        const int rank = stretto_rank(comm);
        std::vector<std::uint64_t> send(count), recv(count), other(count);
        for (std::size_t i = 0; i < count; ++i)
            send[i] = map_of(rank, i);
        stretto_request once = nullptr, often = nullptr;
        {
            const Op op(&compose, &wrong_calls, false);
            check(stretto_iallreduce(comm, send.data(), recv.data(), count, STRETTO_UINT64, op,
                                     &once));
            check(stretto_allreduce_init(comm, send.data(), other.data(), count, STRETTO_UINT64, op,
                                         &often));
        }
        check(stretto_wait(&once));
        for (int start = 0; start < 2; ++start) {
            std::fill(other.begin(), other.end(), 0);
            check(stretto_start(often));
            check(stretto_wait(&often));
            CHECK(other == recv);
        }
        check(stretto_request_free(&often));
        CHECK(recv[4321] == composed_of(3, 4321));
    });
}

TEST_CASE("a freed operation is unknown, and its number is not used again") {
    Op op(&compose, &wrong_calls, true);
    const stretto_op number = op;
    op.free();
    const Op next(&compose, &wrong_calls, true);
    CHECK(next != number);
    CHECK(stretto_op_free(number) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_op_free(STRETTO_SUM) == STRETTO_ERR_ARGUMENT);
    test::with_ranks(1, [&](stretto_comm comm) {
        std::uint64_t value = 1;
        CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_UINT64, number) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "stretto_op_create"));
    });
    stretto_op made;
    CHECK(stretto_op_create(nullptr, nullptr, 1, &made) == STRETTO_ERR_ARGUMENT);
    const std::uint8_t truth = 1;
    CHECK(stretto_op_create_premul_sum(&truth, STRETTO_BOOL, &made) == STRETTO_ERR_ARGUMENT);
}

TEST_CASE("an operation that throws is an error on every rank, blocking or not") {
    static const auto boom = [](const void *, void *, std::size_t, stretto_dtype, void *) {
        throw std::runtime_error("boom");
    };
    for (const bool blocking : {true, false})
        for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}})
            test::with_ranks(3, [&](stretto_comm comm) {
                const bool bad = stretto_rank(comm) == 1;
                check(stretto_force_algorithm(comm, "one_shot")); // where every rank reduces
                const Op op(bad ? +boom : &compose, &wrong_calls, true);
                std::vector<std::uint64_t> send(count), recv(count);
                stretto_status status;
                if (blocking) {
                    status = stretto_allreduce(comm, send.data(), recv.data(), count,
                                               STRETTO_UINT64, op);
                } else {
                    stretto_request request = nullptr;
                    check(stretto_iallreduce(comm, send.data(), recv.data(), count, STRETTO_UINT64,
                                             op, &request));
                    status = stretto_wait(&request);
                }
                // Who needed nothing of rank 1 may have been done before.
                if (bad)
                    CHECK(status == STRETTO_ERR_OPERATION);
                if (status != STRETTO_OK) {
                    CHECK(status == STRETTO_ERR_OPERATION);
                    CHECK(contains(stretto_last_error(), "rank 1"));
                    CHECK(contains(stretto_last_error(), "boom"));
                }
                CHECK(stretto_barrier(comm) != STRETTO_OK);
            });
}

namespace {

// Every rank's contribution counts rank + 1 times.
template<class T>
T factor(int rank) {
    if constexpr (test::kComplex<T>)
        return T(0, static_cast<typename T::value_type>(rank + 1));
    else
        return T(static_cast<float>(rank + 1));
}
template<class T>
T small(int rank, std::size_t index) { // sums of multiples stay exact, of bfloat16 too
    return T(static_cast<float>(test::mixed(rank, index) >> 33 & 3));
}

template<class T>
void premultiply(stretto_comm comm, Collective collective, std::size_t count, int turn) {
    const int ranks = stretto_size(comm), rank = stretto_rank(comm), root = turn % ranks;
    const Op op(factor<T>(rank));
    const bool scatters = collective == Collective::reduce_scatter;
    const bool has_result = collective != Collective::reduce || rank == root;
    const bool in_place = turn % 2 == 1 && has_result, shared = turn / 2 % 2 == 1;
    const std::size_t sent = scatters ? count * static_cast<std::size_t>(ranks) : count;
    const std::size_t first = scatters ? count * static_cast<std::size_t>(rank) : 0;
    test::Buffer<T> send(comm, sent, shared, 0), recv(comm, sent, shared, 0);
    for (std::size_t i = 0; i < sent; ++i)
        (in_place ? recv : send).set(i, small<T>(rank, i));
    const void *const input = in_place ? STRETTO_IN_PLACE : send.data();
    const auto dtype = static_cast<stretto_dtype>(test::dtype_of<T>());
    switch (collective) {
    case Collective::reduce:
        check(stretto_reduce(comm, input, recv.data(), count, dtype, op, root));
        break;
    case Collective::reduce_scatter:
        check(stretto_reduce_scatter(comm, input, recv.data(), count, dtype, op));
        break;
    default: check(stretto_allreduce(comm, input, recv.data(), count, dtype, op));
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; has_result && i < count; ++i) {
        T right{};
        for (int r = 0; r < ranks; ++r)
            right =
                test::combine(STRETTO_SUM, right,
                              test::combine(STRETTO_PROD, small<T>(r, first + i), factor<T>(r)));
        wrong += recv.get(i) != right;
    }
    CAPTURE(turn);
    CHECK(wrong == 0);
    for (std::size_t i = 0; !in_place && i < sent; ++i)
        wrong += send.get(i) != small<T>(rank, i);
    CHECK(wrong == 0);        // the contribution is as it was
    if (in_place && scatters) // nothing but the result was written
        for (std::size_t i = count; i < sent; ++i)
            wrong += recv.get(i) != small<T>(rank, i);
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a premultiplied sum counts each contribution as often as its rank says") {
    for (int ranks = 1; ranks <= 8; ++ranks)
        test::with_ranks(ranks, [](stretto_comm comm) {
            int turn = 0;
            for (const char *algorithm : {"auto", "direct", "ring"}) {
                check(stretto_force_algorithm(comm, algorithm));
                for (const auto collective :
                     {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
                    for (int dtype = 0; dtype < stretto::kDtypes; ++dtype)
                        if (supports(static_cast<test::Dtype>(dtype),
                                     stretto::ReduceOp::premul_sum))
                            test::with_type(static_cast<test::Dtype>(dtype), [&]<class T>(T) {
                                if constexpr (!std::is_same_v<T, test::Bool>)
                                    premultiply<T>(comm, collective, turn % 7 == 0 ? 5003 : 33,
                                                   turn);
                                ++turn;
                            });
            }
        });
}

TEST_CASE("averages and premultiplied sums of parts of different sizes") {
    for (const int ranks : {1, 2, 3, 5, 8})
        test::with_ranks(ranks, [ranks](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            const auto me = static_cast<std::size_t>(rank);
            // 0, 7, 3, 10, 6, ...
            std::vector<std::size_t> counts(static_cast<std::size_t>(ranks));
            for (std::size_t r = 0; r < counts.size(); ++r)
                counts[r] = 3 * r / 2 + r % 2 * 6;
            const std::size_t whole = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
            const std::size_t first =
                std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
            const auto given = [](int r, std::size_t i) {
                return static_cast<double>(i * 16 + static_cast<std::size_t>(r));
            };
            const Op premul(static_cast<double>(rank + 1));
            for (const bool average : {true, false})
                for (const bool in_place : {true, false})
                    for (const bool blocking : {true, false}) {
                        CAPTURE(average);
                        CAPTURE(in_place);
                        CAPTURE(blocking);
                        std::vector<double> send(whole + 1), recv(whole + 1, -1);
                        for (std::size_t i = 0; i < whole; ++i)
                            (in_place ? recv : send)[i] = given(rank, i);
                        const void *const input = in_place ? STRETTO_IN_PLACE : send.data();
                        const stretto_op op = average ? STRETTO_AVG : stretto_op(premul);
                        if (blocking) {
                            check(stretto_reduce_scatterv(comm, input, recv.data(), counts.data(),
                                                          STRETTO_FLOAT64, op));
                        } else {
                            stretto_request request = nullptr;
                            check(stretto_ireduce_scatterv(comm, input, recv.data(), counts.data(),
                                                           STRETTO_FLOAT64, op, &request));
                            check(stretto_wait(&request));
                        }
                        std::size_t wrong = 0;
                        for (std::size_t i = 0; i < counts[me]; ++i) {
                            double right = 0;
                            for (int r = 0; r < ranks; ++r)
                                right += given(r, first + i) * (average ? 1 : r + 1);
                            wrong += recv[i] != (average ? right / ranks : right);
                        }
                        for (std::size_t i = counts[me]; i < whole; ++i) // nothing else was written
                            wrong += recv[i] != (in_place ? given(rank, i) : -1);
                        CHECK(wrong == 0);
                    }
        });
}
