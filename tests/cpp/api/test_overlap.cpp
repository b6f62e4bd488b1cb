// SPDX-License-Identifier: BSD-3-Clause
// Buffers that share memory are refused by every collective with two buffers, in all its forms;
// buffers that touch are not.
#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/layout.hpp"
#include "support/forms.hpp"
#include "support/refused.hpp"

using stretto::schedule::Collective;
using stretto::schedule::Holds;
using test::check;
using test::Wrong;

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kCount = 8;
constexpr std::size_t kCounts[] = {5, 0, 9}; // rank 1 gives or gets nothing

constexpr Collective kWithTwoBuffers[] = {
    Collective::allreduce, Collective::reduce,  Collective::reduce_scatter, Collective::allgather,
    Collective::gather,    Collective::scatter, Collective::alltoall};

std::size_t elements(const test::Call &call, Holds holds, int rank) {
    const bool parts = stretto::schedule::in_parts(call.collective);
    std::size_t whole = parts ? kRanks * call.count : call.count, own = call.count;
    if (!call.counts.empty()) {
        own = call.counts[static_cast<std::size_t>(rank)];
        whole = 0;
        for (const std::size_t count : call.counts)
            whole += count;
    }
    return holds == Holds::whole ? whole : holds == Holds::own ? own : 0;
}

std::vector<test::Call> calls() {
    std::vector<test::Call> all;
    for (const Collective collective : kWithTwoBuffers)
        for (const bool nonblocking : {false, true})
            for (const bool counts : {false, true}) {
                if (counts && !test::takes_counts(collective))
                    continue;
                test::Call call;
                call.collective = collective;
                call.count = kCount;
                if (counts)
                    call.counts.assign(std::begin(kCounts), std::end(kCounts));
                call.dtype = STRETTO_INT32;
                call.nonblocking = nonblocking;
                all.push_back(call);
            }
    return all;
}

std::string label(const test::Call &call) {
    return std::string(stretto::schedule::name(call.collective)) +
           (call.counts.empty() ? "" : "v") + (call.nonblocking ? ", nonblocking" : "");
}

} // namespace

TEST_CASE("collectives refuse buffers that share memory") {
    test::with_ranks(kRanks, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::int32_t> memory(8 * kRanks * kCount, 7);
        std::int32_t *const middle = memory.data() + memory.size() / 2;
        std::vector<Wrong> cases;
        for (test::Call call : calls()) {
            call.root = rank; // each is the root
            const auto where = stretto::schedule::layout(call.collective).root;
            const std::size_t sent = elements(call, where.input, rank);
            const std::size_t received = elements(call, where.output, rank);
            if (sent == 0 || received == 0)
                continue;
            const auto add = [&](const std::string &what, std::ptrdiff_t recv_at,
                                 std::size_t shared) {
                const std::int32_t *const send = middle;
                std::int32_t *const recv = middle + recv_at;
                cases.push_back({label(call) + ": " + what,
                                 [=] { return test::run(comm, call, send, recv); },
                                 shared == 0 ? std::string("the same; pass STRETTO_IN_PLACE")
                                             : "share " + std::to_string(4 * shared) + " bytes"});
            };
            const auto s = static_cast<std::ptrdiff_t>(sent);
            const auto r = static_cast<std::ptrdiff_t>(received);
            add("recv begins with the last element of send", s - 1, 1);
            add("recv ends with the first element of send", 1 - r, 1);
            add("the same beginning", 0, 0);
            if (s > 1)
                add("recv begins one element into send", 1, std::min(sent - 1, received));
            if (s < r) // as a contribution in place lies
                add("send ends with recv", s - r, sent);
        }
        test::refused(comm, cases);
        for (const std::int32_t untouched : memory)
            CHECK(untouched == 7);
    });
}

TEST_CASE("a persistent allreduce refuses them, too") {
    test::with_ranks(2, [](stretto_comm comm) {
        std::vector<double> memory(30, 1);
        stretto_request request = nullptr;
        test::refused(comm, {{"one element on",
                              [&] {
                                  return stretto_allreduce_init(
                                      comm, memory.data(), memory.data() + 1, 10, STRETTO_FLOAT64,
                                      STRETTO_SUM, &request);
                              },
                              "share 72 bytes"}});
        CHECK(request == nullptr);
    });
}

TEST_CASE("buffers that touch are apart") {
    test::with_ranks(kRanks, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        for (const test::Call &call : calls()) {
            CAPTURE(label(call));
            const auto layout = stretto::schedule::layout(call.collective);
            const auto where = rank == call.root ? layout.root : layout.others;
            const std::size_t sent = elements(call, where.input, rank);
            const std::size_t received = elements(call, where.output, rank);
            for (const bool send_first : {true, false}) {
                std::vector<std::int32_t> memory(sent + received, rank);
                std::int32_t *const send = memory.data() + (send_first ? 0 : received);
                std::int32_t *const recv = memory.data() + (send_first ? sent : 0);
                check(test::run(comm, call, send, recv));
                for (std::size_t i = 0; i < sent; ++i)
                    CHECK(send[i] == rank);
                if (call.collective == Collective::allreduce)
                    for (std::size_t i = 0; i < received; ++i)
                        CHECK(recv[i] == 0 + 1 + 2);
            }
        }
    });
}

TEST_CASE("a buffer that a rank does not use may be anywhere") {
    test::with_ranks(kRanks, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::int32_t> one(kRanks * kCount, rank), two(kRanks * kCount, -1);
        std::int32_t *const recv = rank == 0 ? two.data() : one.data();
        check(stretto_reduce(comm, one.data(), recv, kCount, STRETTO_INT32, STRETTO_SUM, 0));
        check(stretto_gather(comm, one.data(), recv, kCount, STRETTO_INT32, 0));
        for (const std::int32_t untouched : one)
            CHECK(untouched == rank);
        std::fill(two.begin(), two.end(), 5);
        check(stretto_scatter(comm, rank == 0 ? two.data() : one.data(), one.data(), kCount,
                              STRETTO_INT32, 0));
        for (std::size_t i = 0; i < kCount; ++i)
            CHECK(one[i] == 5);
    });
}

// Part r of `send` begins at place r in units of 4 elements, of 2 elements each; so in `recv`.
TEST_CASE("parts that share memory are refused, wherever they lie") {
    test::with_ranks(kRanks, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::int32_t> memory(64, 7);
        std::int32_t *const a = memory.data(), *const b = a + 32;
        const std::size_t counts[] = {2, 2, 2}, apart[] = {8, 0, 4}, close[] = {3, 0, 4};
        constexpr auto i32 = STRETTO_INT32;
        std::vector<Wrong> cases;
        const auto add = [&](const char *what, const std::function<stretto_status()> &call,
                             const char *message) { cases.push_back({what, call, message}); };
        for (const std::size_t place : {0, 1, 5, 8, 9})
            add(
                "gatherv: send in a part",
                [=] { return stretto_gatherv(comm, a + place, 2, a, counts, apart, i32, rank); },
                "send and receive buffer share");
        for (const std::size_t place : {0, 1, 5, 8, 9})
            add(
                "scatterv: recv in a part",
                [=] { return stretto_scatterv(comm, a, counts, apart, a + place, 2, i32, rank); },
                "send and receive buffer share");
        for (const std::size_t shift : {0, 1, 3, 5, 9})
            add(
                "alltoallv",
                [=] {
                    return stretto_alltoallv(comm, a + shift, counts, apart, a, counts, apart, i32);
                },
                "send and receive buffer share");
        add(
            "gatherv: two parts",
            [=] { return stretto_gatherv(comm, b, 2, a, counts, close, i32, rank); },
            "parts of two ranks in the receive buffer share 4 bytes");
        add(
            "gatherv in place: two parts",
            [=] { return stretto_gatherv(comm, STRETTO_IN_PLACE, 0, a, counts, close, i32, rank); },
            "parts of two ranks");
        add(
            "alltoallv: two parts",
            [=] { return stretto_alltoallv(comm, b, counts, apart, a, counts, close, i32); },
            "parts of two ranks");
        add(
            "alltoallv in place: two parts",
            [=] {
                return stretto_alltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, a, counts, close,
                                         i32);
            },
            "parts of two ranks");
        add(
            "ialltoallv",
            [=] {
                stretto_request request = nullptr;
                return stretto_ialltoallv(comm, a + 1, counts, apart, a, counts, apart, i32,
                                          &request);
            },
            "send and receive buffer share 4 bytes");
        test::refused(comm, cases);
        for (const std::int32_t untouched : memory)
            CHECK(untouched == 7);

        // Between one another they may lie: part r of recv two elements behind part r of send.
        for (std::size_t r = 0; r < kRanks; ++r)
            for (std::size_t i = 0; i < 2; ++i)
                a[apart[r] + i] =
                    static_cast<std::int32_t>(100 * static_cast<std::size_t>(rank) + 10 * r + i);
        check(stretto_alltoallv(comm, a, counts, apart, a + 2, counts, apart, i32));
        for (std::size_t r = 0; r < kRanks; ++r)
            for (std::size_t i = 0; i < 2; ++i)
                CHECK(a[2 + apart[r] + i] ==
                      static_cast<std::int32_t>(100 * r + 10 * static_cast<std::size_t>(rank) + i));
        // What is sent may be sent twice.
        const std::size_t same[] = {0, 0, 0};
        check(stretto_alltoallv(comm, b, counts, same, a, counts, apart, i32));
        for (std::size_t r = 0; r < kRanks; ++r)
            CHECK(a[apart[r]] == 7);
    });
}
