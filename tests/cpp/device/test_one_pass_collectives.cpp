// SPDX-License-Identifier: BSD-3-Clause
// All collectives as one pass of one process, and by steps where that cannot be.  Ranks are
// processes.
#include "doctest.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "device/held_kernels.hpp"
#include "device/ordered_vector.hpp"
#include "support/exact.hpp"
#include "support/job.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"

using namespace test;

namespace {

constexpr Collective kAll[] = {
    Collective::allreduce, Collective::reduce, Collective::broadcast, Collective::reduce_scatter,
    Collective::allgather, Collective::gather, Collective::scatter,   Collective::alltoall};

Call call_of(Collective collective, std::size_t count) {
    Call call;
    call.collective = collective;
    call.count = count;
    call.dtype = STRETTO_INT32;
    return call;
}

// Bytes that the passes of a call read and write, all ranks together.
std::uint64_t bytes_touched(const Call &call, std::uint64_t ranks) {
    const std::uint64_t bytes = 4 * call.count;
    const std::uint64_t own = call.in_place ? 1 : 0; // parts that are where they belong
    switch (call.collective) {
    case Collective::allreduce: return bytes * 2 * ranks;
    case Collective::reduce: return bytes * (ranks + 1);
    case Collective::broadcast: return bytes * ranks;
    case Collective::reduce_scatter: return bytes * ranks * (ranks + 1);
    case Collective::allgather: return bytes * ranks * (1 + ranks - own);
    case Collective::gather:
    case Collective::scatter: return bytes * 2 * (ranks - own);
    default: return bytes * 2 * ranks * ranks;
    }
}

// One of the call's results, on the data of this round.
bool plays(stretto_comm comm, Call call, std::size_t round) {
    call.salt = round;
    return play(comm, call) == "";
}

// Counts of this process in a call: what fills and reads the buffers goes by cuMemcpy.
struct OneCall {
    Counts counts;
    std::string verdict;
};

OneCall counts_of_one(stretto_comm comm, const Call &call) {
    const std::unique_ptr<Played> played = prepare(comm, call);
    check(stretto_barrier(comm));
    simulated_cuda::simulated_cuda_reset();
    check(played->run());
    const Counts counts = counted();
    return {counts, played->verdict()};
}

} // namespace

TEST_CASE("one process performs any collective, of any length, in place or not") {
    for (const int ranks : {2, 3, 5, 8})
        for (const Collective collective : kAll) {
            CAPTURE(ranks);
            CAPTURE(name(collective));
            on_free_ranks(ranks, [&](stretto_comm comm) {
                const OnDevice device(OnDevice::Buffers::reused);
                for (const std::size_t count :
                     {std::size_t{1}, std::size_t{7}, std::size_t{1009}, std::size_t{40'003}})
                    for (const bool in_place : {false, true})
                        for (const int root : {0, ranks - 1}) {
                            Call call = call_of(collective, count);
                            call.root = root;
                            call.in_place = in_place;
                            call.nonblocking = count % 3 == 1;
                            if (!plays(comm, call, 1) || !plays(comm, call, 2))
                                return kWrong;
                            const OneCall one = counts_of_one(comm, call);
                            if (one.verdict != "")
                                return kWrong;
                            if (in_place && collective == Collective::alltoall)
                                continue; // by steps
                            const Counts &counts = one.counts;
                            const std::uint64_t touched =
                                counts.kernel_bytes + 2 * counts.bytes; // copies read and write
                            const std::uint64_t wanted =
                                stretto_rank(comm) == 0
                                    ? bytes_touched(call, static_cast<std::uint64_t>(ranks))
                                    : 0;
                            if (touched != wanted || counts.from_device_bytes != 0 ||
                                counts.to_device_bytes != 0 || counts.opened != 0 ||
                                counts.handles != 0)
                                return kWrong;
                        }
                return kRight;
            });
        }
}

TEST_CASE("reductions to one rank or to parts, of any type, operation and counts") {
    for (const int ranks : {2, 5})
        on_free_ranks(ranks, [&](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            std::size_t salt = 0;
            for (const Collective collective : {Collective::reduce, Collective::reduce_scatter})
                for (int dtype = 0; dtype < 15; ++dtype)
                    for (const stretto_op op :
                         {STRETTO_SUM, STRETTO_PROD, STRETTO_MIN, STRETTO_MAX, STRETTO_BAND,
                          STRETTO_BOR, STRETTO_BXOR, STRETTO_LAND, STRETTO_LOR, STRETTO_LXOR,
                          STRETTO_AVG})
                        for (const std::size_t count : {std::size_t{3}, std::size_t{4099}}) {
                            if (!stretto::supports(static_cast<stretto::Dtype>(dtype),
                                                   static_cast<stretto::ReduceOp>(op)))
                                continue;
                            Call call = call_of(collective, count);
                            call.dtype = static_cast<stretto_dtype>(dtype);
                            call.op = op;
                            call.root = static_cast<int>(++salt) % ranks;
                            call.in_place = salt % 2 == 0;
                            call.send_offset = salt % 3 * 16;
                            call.recv_offset = salt % 5 * 16;
                            if (salt % 4 == 0 && takes_counts(collective))
                                for (int rank = 0; rank < ranks; ++rank)
                                    call.counts.push_back(count * static_cast<std::size_t>(rank));
                            if (!plays(comm, call, salt))
                                return kWrong;
                            const OneCall one = counts_of_one(comm, call);
                            if (one.verdict != "" || (stretto_rank(comm) != 0 && !call.in_place &&
                                                      one.counts.launches != 0))
                                return kWrong;
                        }
            return kRight;
        });
}

TEST_CASE("parts of unequal length, some empty") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        const OnDevice device(OnDevice::Buffers::reused);
        std::size_t round = 0;
        for (const std::vector<std::size_t> &counts : std::vector<std::vector<std::size_t>>{
                 {5, 0, 9}, {0, 0, 4}, {1, 3000, 1}, {50'000, 7, 0}, {9, 9, 0}})
            for (const Collective collective : {Collective::allgather, Collective::reduce_scatter})
                for (const bool in_place : {false, true}) {
                    Call call = call_of(collective, 0);
                    call.counts = counts;
                    call.in_place = in_place;
                    if (!plays(comm, call, ++round) || !plays(comm, call, ++round))
                        return kWrong;
                }
        return kRight;
    });
}

TEST_CASE("ranks with host memory, and other algorithms, lead all to the steps of the plan") {
    for (const Collective collective : kAll)
        for (const int odd : {0, 2}) {
            CAPTURE(name(collective));
            CAPTURE(odd);
            on_free_ranks(kRanks, [&](stretto_comm comm) {
                for (const std::size_t count : {std::size_t{5}, std::size_t{70'001}})
                    for (std::size_t round = 0; round < 6; ++round) {
                        std::unique_ptr<OnDevice> device;
                        if (stretto_rank(comm) != odd || round % 2 == 0)
                            device = std::make_unique<OnDevice>();
                        Call call = call_of(collective, count);
                        call.root = static_cast<int>(round) % kRanks;
                        call.in_place = round >= 3;
                        if (!plays(comm, call, round))
                            return kWrong;
                    }
                return kRight;
            });
        }
}

TEST_CASE("many calls of all collectives in flight") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        constexpr std::size_t kMany = 150;
        const OnDevice device(OnDevice::Buffers::reused);
        std::vector<std::unique_ptr<Played>> calls;
        std::vector<stretto_request> requests(kMany);
        for (std::size_t k = 0; k < kMany; ++k) {
            Call call = call_of(kAll[k % std::size(kAll)], 1 + 301 * (k % 90));
            call.root = static_cast<int>(k) % kRanks;
            call.in_place = k % 5 == 0;
            call.salt = k;
            calls.push_back(prepare(comm, call));
            check(calls[k]->start(&requests[k]));
        }
        for (std::size_t k = 0; k < kMany; ++k) {
            const std::size_t next = stretto_rank(comm) == 1 ? kMany - 1 - k : k;
            check(stretto_wait(&requests[next]));
            if (calls[next]->verdict() != "")
                return kWrong;
        }
        return kRight;
    });
}

TEST_CASE("ranks hear of a leader that dies in its passes, whatever the collective") {
    for (const Collective collective : kAll) {
        CAPTURE(name(collective));
        const auto codes = on_processes(kRanks, [&](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            Call call = call_of(collective, kCount);
            call.root = kRanks - 1;
            if (!plays(comm, call, 1) || !plays(comm, call, 2))
                return kWrong;
            const std::unique_ptr<Played> played = prepare(comm, call);
            check(stretto_barrier(comm));
            std::thread other;
            if (stretto_rank(comm) == 0) {
                simulated_cuda::simulated_cuda_hold(true);
                simulated_cuda::simulated_cuda_reset();
                other = std::thread([] {
                    while (counted().launches + counted().copies == 0)
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    kill(getpid(), SIGKILL);
                });
            }
            const stretto_status status = played->run();
            if (other.joinable())
                other.join();
            return status != STRETTO_OK && contains(stretto_last_error(), "rank 0") ? kRight
                                                                                    : kWrong;
        });
        CHECK(codes == std::vector<int>{-SIGKILL, kRight, kRight});
    }
}

TEST_CASE("a late rank is named by those that copy as well") {
    for (const Collective collective : {Collective::broadcast, Collective::gather}) {
        CAPTURE(name(collective));
        SharedCounter told;
        on_free_ranks(kRanks, [&](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            const Call call = call_of(collective, 100);
            if (!plays(comm, call, 1))
                return kWrong;
            if (stretto_rank(comm) == 2) {
                told.await(kRanks - 1);
                return kRight;
            }
            check(stretto_set_timeout(comm, 0.3));
            const std::unique_ptr<Played> played = prepare(comm, call);
            const stretto_status status = played->run();
            const std::string error = stretto_last_error();
            ++*told;
            return status == STRETTO_ERR_TIMEOUT && contains(error, "rank 2") ? kRight : kWrong;
        });
    }
}

TEST_CASE("an error of a copy between ranks is an error of all") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        const OnDevice device(OnDevice::Buffers::reused);
        const Call call = call_of(Collective::gather, kCount);
        if (!plays(comm, call, 1) || !plays(comm, call, 2))
            return kWrong;
        const std::unique_ptr<Played> played = prepare(comm, call);
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 0)
            simulated_cuda::simulated_cuda_fail(1, 700); // the second of three
        const stretto_status status = played->run();
        const std::string error = stretto_last_error();
        return status != STRETTO_OK && contains(error, "rank 0") &&
                       contains(error, "CUDA_ERROR_ILLEGAL_ADDRESS")
                   ? kRight
                   : kWrong;
    });
}
