// SPDX-License-Identifier: BSD-3-Clause
// Buffers of a kind of memory that the CPU leaves to an executor, on some ranks or on all.
#include "doctest.h"

#include <array>
#include <barrier>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calls/call_descriptor.hpp"
#include "handles.hpp"
#include "support/deferred.hpp"
#include "support/oracle.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using stretto::Dtype;
using stretto::Error;
using stretto::MemoryKind;
using stretto::ReduceOp;
using stretto::Status;
using stretto::calls::Collective;
using stretto::calls::Request;
using stretto::comm::Communicator;
using test::contains;
using test::Deferred;

using Vector = std::vector<std::int64_t>;

// What a rank contributes, and its sum over all ranks in the same place.
struct Sum {
    Vector send, recv;

    Sum(stretto_comm comm, std::size_t count) : send(count), recv(count, -1) {
        for (std::size_t i = 0; i < count; ++i)
            send[i] = test::contribution<std::int64_t>(STRETTO_SUM, stretto_rank(comm), i);
    }
    Request request(MemoryKind memory, ReduceOp op = ReduceOp::sum) {
        Request asked;
        asked.input = send.data();
        asked.output = recv.data();
        asked.count = send.size();
        asked.dtype = Dtype::i64;
        asked.op = op;
        asked.memory = memory;
        return asked;
    }
    std::size_t wrong(stretto_comm comm) const {
        std::size_t found = 0;
        for (std::size_t i = 0; i < recv.size(); ++i)
            found += recv[i] != test::expected<std::int64_t>(STRETTO_SUM, stretto_size(comm), i);
        return found;
    }
};

// What a call throws.
std::optional<Error> error_of(const std::function<void()> &call) {
    try {
        call();
    } catch (const Error &error) {
        return error;
    }
    return std::nullopt;
}

void play(stretto_comm comm, Sum &sum, MemoryKind memory) {
    comm->communicator.play(sum.request(memory));
}

} // namespace

TEST_CASE("a call in memory of a kind is performed by the executor of that kind") {
    Deferred executor(Deferred::Tells::signals);
    const test::Registered registered(MemoryKind::cuda, executor);
    for (const int ranks : {1, 2, 3, 5})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            Communicator &communicator = comm->communicator;
            for (const std::size_t count : {0, 1, 1009, 60'013}) {
                CAPTURE(count);
                // A call in host memory has a site of its own.
                Sum host(comm, count), cuda(comm, count), beside(comm, count);
                const Request asked = beside.request(MemoryKind::cuda);
                stretto::engine::Queue::InFlightCall *const flight = communicator.start(asked);
                play(comm, host, MemoryKind::host);
                play(comm, cuda, MemoryKind::cuda);
                communicator.complete(flight);
                CHECK(host.wrong(comm) == 0);
                CHECK(cuda.wrong(comm) == 0);
                CHECK(beside.wrong(comm) == 0);
            }
        });
    CHECK(executor.ever_taken() > 0);
}

TEST_CASE("ranks need not agree on the kind of memory") {
    Deferred executor(Deferred::Tells::signals);
    const test::Registered registered(MemoryKind::cuda, executor);
    test::with_ranks(3, [&](stretto_comm comm) {
        for (int call = 0; call < 12; ++call) {
            Sum sum(comm, 1009);
            const bool differs = call % 3 == stretto_rank(comm);
            play(comm, sum, differs ? MemoryKind::host : MemoryKind::cuda);
            CHECK(sum.wrong(comm) == 0);
        }
    });
    CHECK(executor.ever_taken() > 0);
}

TEST_CASE("memory without an executor is refused by all ranks, and the communicator works") {
    test::with_ranks(3, [](stretto_comm comm) {
        Sum sum(comm, 8);
        for (const bool nonblocking : {false, true}) {
            const auto error = error_of([&] {
                if (nonblocking)
                    (void)comm->communicator.start(sum.request(MemoryKind::cuda));
                else
                    play(comm, sum, MemoryKind::cuda);
            });
            REQUIRE(error.has_value());
            CHECK(error->status() == Status::unsupported);
            CHECK(contains(error->what(), "nothing in this process copies and reduces in CUDA "
                                          "memory; copy the data to host memory first"));
            CHECK(contains(error->what(), "allreduce(8 x int64, sum)"));
        }
        play(comm, sum, MemoryKind::host);
        CHECK(sum.wrong(comm) == 0);
    });
}

TEST_CASE("one rank's memory without an executor is an error on the others") {
    std::barrier told(3); // of one that has left nobody asks what it called
    test::with_ranks(3, [&](stretto_comm comm) {
        const bool alone = stretto_rank(comm) == 1;
        Sum sum(comm, 8);
        const auto error =
            error_of([&] { play(comm, sum, alone ? MemoryKind::cuda : MemoryKind::host); });
        told.arrive_and_wait();
        REQUIRE(error.has_value());
        const std::string text = error->what();
        CAPTURE(text);
        if (alone) {
            CHECK(error->status() == Status::unsupported);
            return;
        }
        CHECK(error->status() == Status::mismatch);
        CHECK(contains(text, "allreduce(8 x int64, sum, refused) on rank 1"));
    });
}

TEST_CASE("work of the CPU before and after a call copies what it needs") {
    Deferred executor(Deferred::Tells::signals);
    const test::Registered registered(MemoryKind::cuda, executor);
    test::with_ranks(2, [&](stretto_comm comm) {
        std::vector<float> values(1009, static_cast<float>(1 + 2 * stretto_rank(comm)));
        Request asked;
        asked.output = values.data();
        asked.count = values.size();
        asked.op = ReduceOp::avg;
        asked.memory = MemoryKind::cuda;
        comm->communicator.play(asked);
        CHECK(values == std::vector<float>(1009, 2));
    });
    CHECK(executor.ever_taken() > 0);
}

TEST_CASE("a call description says what ranks agree on, and not where buffers are") {
    for (const int dtype :
         {0, stretto::kDtypes - 1, stretto::kRecordBase + stretto::kLargestRecordBytes})
        for (const int root : {0, 5, -1}) {
            Request asked;
            asked.collective = Collective::alltoall;
            asked.dtype = static_cast<Dtype>(dtype);
            asked.op = ReduceOp::user_in_order;
            asked.root = root;
            const std::uint64_t packed = pack(asked);
            CHECK((packed & stretto::calls::kRefusedFlag) == 0);
            const std::uint64_t descriptor = packed | stretto::calls::kRefusedFlag;
            CHECK(stretto::calls::dtype_in(descriptor) == asked.dtype);
            CHECK(stretto::calls::collective_in(descriptor) == asked.collective);
            CHECK(stretto::calls::op_in(descriptor) == asked.op);
            CHECK(static_cast<int>(descriptor >> stretto::calls::kRootShift) == root);
            asked.memory = MemoryKind::cuda;
            CHECK(pack(asked) == packed);
        }
}
