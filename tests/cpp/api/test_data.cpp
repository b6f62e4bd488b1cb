// SPDX-License-Identifier: BSD-3-Clause
// Every element type with every operation that it has, and the refusal of the others.
#include "doctest.h"

#include <cstring>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/exact.hpp"
#include "support/oracle.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using test::Call;
using test::check;
using test::Collective;
using test::contains;
using test::Dtype;
using test::Pair;

namespace {

void play_all(stretto_comm comm, Collective collective, const char *algorithm) {
    check(stretto_force_algorithm(comm, algorithm));
    const int ranks = stretto_size(comm);
    int turn = ranks;
    for (const Pair &pair : test::pairs()) {
        Call call;
        call.collective = collective;
        call.count = turn % 3 == 0 ? 3 : 61;
        call.dtype = pair.dtype;
        call.op = pair.op;
        call.root = turn % ranks;
        call.in_place = turn % 2 == 1;
        call.shared = turn / 2 % 2 == 1;
        call.recv_offset = turn % 7 == 0 ? 60 : 0;
        call.send_offset = turn % 5 == 0 ? 1 : 0;
        ++turn;
        const std::string wrong = test::play(comm, call);
        CHECK_MESSAGE(wrong == "", algorithm, " on ", ranks, " ranks, ", label(call), ": ", wrong);
    }
}

} // namespace

TEST_CASE("every type with every operation that it has") {
    for (int ranks = 1; ranks <= (test::full_tier() ? 16 : 8); ++ranks) {
        CAPTURE(ranks);
        test::with_ranks(ranks, [&](stretto_comm comm) {
            play_all(comm, Collective::allreduce, "auto");
            if (ranks > 5 && !test::full_tier())
                return;
            play_all(comm, Collective::allreduce, "rabenseifner");
            play_all(comm, Collective::reduce, "auto");
            play_all(comm, Collective::reduce_scatter, "ring");
        });
    }
}

// From 8 KiB on, others read contributions and write results where they lie in the heap.
TEST_CASE("averages of long vectors that others read and write in place") {
    for (const int ranks : {1, 2, 3, 5, 8})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            for (const char *algorithm : {"direct", "ring", "rabenseifner", "linear"}) {
                check(stretto_force_algorithm(comm, algorithm));
                for (const auto collective :
                     {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
                    for (const stretto_dtype dtype : {STRETTO_FLOAT64, STRETTO_BFLOAT16})
                        for (const bool in_place : {false, true}) {
                            Call call;
                            call.collective = collective;
                            call.count = 20'011;
                            call.dtype = dtype;
                            call.op = STRETTO_AVG;
                            call.root = ranks / 2;
                            call.in_place = in_place;
                            call.shared = true;
                            const std::string wrong = test::play(comm, call);
                            CHECK_MESSAGE(wrong == "", algorithm, " on ", ranks, " ranks, ",
                                          label(call), ": ", wrong);
                        }
            }
        });
}

TEST_CASE("what a type cannot do is refused, with what it can") {
    test::with_ranks(2, [](stretto_comm comm) {
        std::vector<double> send(4), recv(4);
        const auto call = [&](int dtype, int op) {
            return stretto_allreduce(comm, send.data(), recv.data(), 1,
                                     static_cast<stretto_dtype>(dtype),
                                     static_cast<stretto_op>(op));
        };
        for (int dtype = 0; dtype < stretto::kDtypes; ++dtype)
            for (int op = 0; op < stretto::kBuiltInOps; ++op) {
                const auto type = static_cast<Dtype>(dtype);
                const auto kind = static_cast<stretto::ReduceOp>(op);
                CAPTURE(name(type));
                CAPTURE(name(kind));
                if (supports(type, kind))
                    continue;
                CHECK(call(dtype, op) == STRETTO_ERR_ARGUMENT);
                const std::string message = stretto_last_error();
                CHECK(contains(message,
                               "no " + std::string(name(kind)) + " of " + std::string(name(type))));
                const std::string has = message.substr(message.find("; there are: "));
                CHECK(contains(has, ", max") == supports(type, stretto::ReduceOp::max));
                CHECK(contains(has, ", lxor") == supports(type, stretto::ReduceOp::lxor));
            }
        // Nothing was sent.
        CHECK(call(STRETTO_FLOAT64, STRETTO_SUM) == STRETTO_OK);
        // What reduces nothing takes every type.
        std::uint8_t truth[2] = {7, 7};
        CHECK(stretto_allgather(comm, truth + 1, truth, 0, STRETTO_BOOL) == STRETTO_OK);
        CHECK(stretto_broadcast(comm, truth, 2, STRETTO_BOOL, 0) == STRETTO_OK);
        const char *chosen = nullptr;
        for (int dtype = 0; dtype < stretto::kDtypes; ++dtype)
            CHECK(stretto_chosen_algorithm(comm, "allreduce", 10, static_cast<stretto_dtype>(dtype),
                                           &chosen) == STRETTO_OK);
    });
}

TEST_CASE("ranks with other types or operations get a mismatch") {
    struct Other {
        stretto_dtype dtype;
        stretto_op op;
        const char *said;
    };
    for (const Other &other : {Other{STRETTO_BFLOAT16, STRETTO_SUM, "bfloat16, sum"},
                               {STRETTO_FLOAT16, STRETTO_AVG, "float16, avg"},
                               {STRETTO_UINT16, STRETTO_SUM, "uint16, sum"}})
        test::with_ranks(2, [&](stretto_comm comm) {
            std::uint16_t send[8] = {}, recv[8];
            const bool differs = stretto_rank(comm) == 1;
            CHECK(stretto_allreduce(comm, send, recv, 8, differs ? other.dtype : STRETTO_FLOAT16,
                                    differs ? other.op : STRETTO_SUM) == STRETTO_ERR_MISMATCH);
            CHECK(contains(stretto_last_error(), other.said));
            CHECK(contains(stretto_last_error(), "float16, sum"));
        });
}

namespace {

// Memory that ends the program if anything writes to it after close().
class ReadOnly {
public:
    explicit ReadOnly(std::size_t bytes)
        : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        REQUIRE(memory_ != MAP_FAILED);
    }
    ~ReadOnly() { munmap(memory_, bytes_); }
    ReadOnly(const ReadOnly &) = delete;
    ReadOnly &operator=(const ReadOnly &) = delete;
    std::int32_t *data() const { return static_cast<std::int32_t *>(memory_); }
    void close() { REQUIRE(mprotect(memory_, bytes_, PROT_READ) == 0); }

private:
    const std::size_t bytes_;
    void *const memory_;
};

} // namespace

TEST_CASE("the buffer of the root of a broadcast is only read") {
    for (const int ranks : {2, 3, 4})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            for (const auto &algorithm : stretto::algorithms::all()) {
                if (algorithm.collective != Collective::broadcast)
                    continue;
                check(stretto_force_algorithm(comm, std::string(algorithm.name).c_str()));
                for (const std::size_t count : {1, 1000, 300'000})
                    for (int root = 0; root < ranks; ++root) {
                        ReadOnly buffer(count * sizeof(std::int32_t));
                        const auto value = [&](std::size_t i) {
                            return static_cast<std::int32_t>(7 * i + 1000 * root + 3);
                        };
                        for (std::size_t i = 0; i < count; ++i)
                            buffer.data()[i] = rank == root ? value(i) : -1;
                        if (rank == root)
                            buffer.close();
                        check(stretto_broadcast(comm, buffer.data(), count, STRETTO_INT32, root));
                        std::size_t wrong = 0;
                        for (std::size_t i = 0; i < count; ++i)
                            wrong += buffer.data()[i] != value(i);
                        CHECK_MESSAGE(wrong == 0, algorithm.name, " on ", ranks, " ranks, ", count);
                    }
            }
        });
}
