// SPDX-License-Identifier: BSD-3-Clause
// Ranks of a host that reach one another's device memory: each reduces its block of all vectors
// there, by one kernel, and writes it to all.  Ranks are processes, which open one another's
// memory.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "device/allreduce.hpp"
#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/processes.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using simulated_cuda::Counts;
using test::allreduce;
using test::check;
using test::contains;

constexpr int kRight = 7, kWrong = 8, kRanks = 3;
constexpr std::size_t kCount = 100'003; // of a vector that is read in place

// Each rank's kernels are counted in its process.
const test::With each_launches("STRETTO_GPU_LAUNCH", "own");

Counts counted() {
    Counts counts;
    simulated_cuda::simulated_cuda_counts(&counts);
    return counts;
}

// All ranks end with kRight.
void on_ranks(int ranks, const std::function<int(stretto_comm)> &body) {
    const auto codes = test::on_processes(ranks, [&](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "direct"));
        return body(comm);
    });
    CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), kRight));
}

// A rank's vector of ones on the device, summed up in place.
class Vector {
public:
    Vector(test::OnDevice &device, std::size_t count)
        : device_(device), count_(count), memory_(device.allocate(4 * count, true)) {}
    ~Vector() { device_.free(memory_); }
    std::byte *memory() const { return memory_; }
    // Whether each element of the result is that of all ranks.
    bool sum(stretto_comm comm) {
        const int rank = stretto_rank(comm), ranks = stretto_size(comm);
        std::vector<std::int32_t> mine(count_);
        for (std::size_t i = 0; i < count_; ++i)
            mine[i] = static_cast<std::int32_t>(i) * (rank + 1);
        device_.copy(memory_, reinterpret_cast<const std::byte *>(mine.data()), 4 * count_);
        if (stretto_allreduce(comm, STRETTO_IN_PLACE, memory_, count_, STRETTO_INT32,
                              STRETTO_SUM) != STRETTO_OK)
            return false;
        device_.copy(reinterpret_cast<std::byte *>(mine.data()), memory_, 4 * count_);
        for (std::size_t i = 0; i < count_; ++i)
            if (mine[i] != static_cast<std::int32_t>(i) * (ranks * (ranks + 1) / 2))
                return false;
        return true;
    }

private:
    test::OnDevice &device_;
    const std::size_t count_;
    std::byte *const memory_;
};

// What one more call asks of the driver, in this process.  Others make theirs meanwhile.
Counts counts_of(Vector &vector, stretto_comm comm, bool &right) {
    check(stretto_barrier(comm));
    simulated_cuda::simulated_cuda_reset();
    right = vector.sum(comm) && right;
    return counted();
}

} // namespace

TEST_CASE("each rank reads its block of all vectors and writes it to all, once") {
    for (const int ranks : {2, 3, 4, 7, 8}) {
        CAPTURE(ranks);
        on_ranks(ranks, [&](stretto_comm comm) {
            test::OnDevice device;
            const auto parts = static_cast<std::size_t>(ranks);
            Vector vector(device, 84'000 * 2);                 // which all of these divide
            bool right = vector.sum(comm) && vector.sum(comm); // ranks know of one another then
            const std::uint64_t opened = counted().opened, handles = counted().handles;
            const Counts counts = counts_of(vector, comm, right);
            // 2 P n bytes of all ranks; nothing goes to the host, and nothing is opened.
            return right && opened == parts - 1 && handles == 1 && counts.opened == 0 &&
                           counts.handles == 0 && counts.copies == 0 && counts.launches > 0 &&
                           counts.kernel_bytes == 84'000 * 2 * 4 / parts * 2 * parts
                       ? kRight
                       : kWrong;
        });
    }
}

TEST_CASE("slices that follow one another and are ready at once are one kernel") {
    const test::With rings("STRETTO_RING_BYTES", "8M"); // slices of 8 ranks wait for room else
    for (const int ranks : {2, 3, 8}) {
        CAPTURE(ranks);
        on_ranks(ranks, [&](stretto_comm comm) {
            test::OnDevice device;
            constexpr std::size_t kSliceBytes = 256u << 10, kCalls = 10;
            const auto parts = static_cast<std::size_t>(ranks);
            const std::size_t slices = 48 / parts; // of a block
            Vector vector(device, slices * parts * kSliceBytes / sizeof(std::int32_t));
            bool right = vector.sum(comm) && vector.sum(comm);
            std::uint64_t launches = 0;
            for (std::size_t call = 0; call < kCalls; ++call) {
                const Counts counts = counts_of(vector, comm, right);
                right = right && counts.kernel_bytes == slices * kSliceBytes * 2 * parts;
                launches += counts.launches;
            }
            return right && launches < kCalls * slices / 2 ? kRight : kWrong;
        });
    }
}

TEST_CASE("any count and any type") {
    for (const int ranks : {1, 2, 3, 4, 7, 8}) {
        CAPTURE(ranks);
        on_ranks(ranks, [&](stretto_comm comm) {
            const test::OnDevice device(test::OnDevice::Buffers::reused);
            for (const std::size_t count : {std::size_t{1}, std::size_t{32'771}, kCount})
                for (int dtype = 0; dtype < 15; ++dtype) {
                    test::Call call = allreduce(count);
                    call.dtype = static_cast<stretto_dtype>(dtype);
                    if (dtype == STRETTO_BOOL)
                        call.op = STRETTO_LXOR;
                    if (test::play(comm, call) != "")
                        return kWrong;
                }
            return kRight;
        });
    }
}

TEST_CASE("all collectives of vectors that are used in place") {
    using test::Collective;
    constexpr Collective kAll[] = {Collective::allreduce, Collective::reduce,
                                   Collective::broadcast, Collective::reduce_scatter,
                                   Collective::allgather, Collective::alltoall,
                                   Collective::gather,    Collective::scatter};
    const auto codes = test::on_processes(4, [&](stretto_comm comm) {
        const test::OnDevice device(test::OnDevice::Buffers::reused);
        std::size_t salt = 0;
        for (int round = 0; round < 2; ++round)
            for (const Collective collective : kAll)
                for (const bool in_place : {false, true}) {
                    test::Call call = allreduce(kCount);
                    call.collective = collective;
                    call.in_place = in_place;
                    call.salt = ++salt;
                    if (test::play(comm, call) != "")
                        return kWrong;
                }
        return counted().launches > 0 ? kRight : kWrong;
    });
    CHECK(codes == std::vector<int>(4, kRight));
}

TEST_CASE("a rank with host memory, or with memory that has no handle, among those that have one") {
    for (const bool host : {true, false}) {
        CAPTURE(host);
        on_ranks(4, [&](stretto_comm comm) {
            const bool odd = stretto_rank(comm) == 2;
            {
                test::OnDevice device;
                Vector vector(device, kCount);
                if (!vector.sum(comm) || !vector.sum(comm))
                    return kWrong;
            }
            const test::OnDevice device(host && odd ? test::OnDevice::Buffers::asked
                                                    : test::OnDevice::Buffers::reused);
            simulated_cuda::simulated_cuda_without_handles(!host && odd);
            const std::uint64_t opened = counted().opened;
            for (int round = 0; round < 3; ++round)
                if (test::play(comm, allreduce(kCount)) != "")
                    return kWrong;
            return counted().opened > opened ? kRight : kWrong; // also by that rank
        });
    }
}

TEST_CASE("ranks of another device share nothing with the others") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        if (stretto_rank(comm) == 1)
            simulated_cuda::simulated_cuda_other_device();
        Vector vector(device, kCount);
        for (int round = 0; round < 3; ++round)
            if (!vector.sum(comm))
                return kWrong;
        return stretto_rank(comm) != 1 || counted().opened == 0 ? kRight : kWrong;
    });
}

TEST_CASE("memory that is freed and allocated again is opened again") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        const std::byte *first = nullptr;
        for (int round = 0; round < 12; ++round) {
            Vector vector(device, kCount + static_cast<std::size_t>(round % 2));
            if (round > 0 && vector.memory() != first)
                return kWrong; // else this tests nothing
            first = vector.memory();
            if (!vector.sum(comm) || !vector.sum(comm))
                return kWrong;
        }
        return counted().opened >= 2 * 11 && counted().closed >= 2 * 10 ? kRight : kWrong;
    });
}

TEST_CASE("STRETTO_CUDA_IPC=off uses nothing in place") {
    const test::With off("STRETTO_CUDA_IPC", "off");
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        Vector vector(device, kCount);
        return vector.sum(comm) && vector.sum(comm) && counted().handles == 0 &&
                       counted().launches == 0
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("memory that its owner has freed is not opened, which is no error") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        Vector vector(device, kCount);
        bool right = vector.sum(comm) && vector.sum(comm);
        right = Vector(device, 2 * kCount).sum(comm) && right; // the others look when it is gone
        check(stretto_barrier(comm));
        right = vector.sum(comm) && right;
        const Counts counts = counts_of(vector, comm, right);
        return right && counts.launches != 0 && counts.copies == 0 && counted().opened == 0
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("more vectors than a rank lists") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        constexpr unsigned kVectors = 260;
        std::vector<std::unique_ptr<Vector>> vectors;
        for (unsigned k = 0; k < kVectors; ++k)
            vectors.push_back(std::make_unique<Vector>(device, 33'000));
        for (int round = 0; round < 3; ++round)
            for (const auto &vector : vectors)
                if (!vector->sum(comm))
                    return kWrong;
        return counted().opened == 2 * kVectors ? kRight : kWrong; // each once
    });
}

TEST_CASE("nonblocking calls, several at once") {
    on_ranks(kRanks, [](stretto_comm comm) {
        const test::OnDevice device(test::OnDevice::Buffers::reused);
        for (int round = 0; round < 3; ++round) {
            std::vector<std::unique_ptr<test::Played>> calls;
            std::vector<stretto_request> requests(5);
            for (std::size_t k = 0; k < requests.size(); ++k) {
                calls.push_back(test::prepare(comm, allreduce(kCount + k)));
                check(calls[k]->start(&requests[k]));
            }
            for (std::size_t k = 0; k < requests.size(); ++k) {
                check(stretto_wait(&requests[k]));
                if (calls[k]->verdict() != "")
                    return kWrong;
            }
        }
        return counted().launches > 0 ? kRight : kWrong;
    });
}

TEST_CASE("an error of a kernel, or of opening memory, is an error of all ranks") {
    for (const bool opening : {true, false}) {
        CAPTURE(opening);
        on_ranks(kRanks, [&](stretto_comm comm) {
            test::OnDevice device;
            if (opening && stretto_rank(comm) == 1)
                simulated_cuda::simulated_cuda_fail_opening(2);
            Vector vector(device, kCount);
            std::string error;
            for (int round = 0; round < 3 && error.empty(); ++round) {
                if (!opening && round == 2 && stretto_rank(comm) == 1)
                    simulated_cuda::simulated_cuda_fail(0, 700);
                if (!vector.sum(comm))
                    error = stretto_last_error();
            }
            return contains(error, "rank 1") &&
                           contains(error, opening ? "cuIpcOpenMemHandle of another rank's memory: "
                                                     "CUDA_ERROR_OUT_OF_MEMORY"
                                                   : "cuLaunchKernel of a reduction: "
                                                     "CUDA_ERROR_ILLEGAL_ADDRESS")
                       ? kRight
                       : kWrong;
        });
    }
}

TEST_CASE("a rank hears of a process that dies before its memory is opened") {
    const auto codes = test::on_processes(2, [&](stretto_comm comm) {
        test::OnDevice device;
        check(stretto_force_algorithm(comm, "direct"));
        Vector vector(device, kCount), next(device, kCount);
        if (!vector.sum(comm) || !vector.sum(comm))
            return kWrong;
        if (stretto_rank(comm) == 0)
            simulated_cuda::simulated_cuda_kill_owner();
        stretto_status status = STRETTO_OK; // the first call lists the memory, the second opens it
        for (int call = 0; call < 2 && status == STRETTO_OK; ++call)
            status = stretto_allreduce(comm, STRETTO_IN_PLACE, next.memory(), kCount, STRETTO_INT32,
                                       STRETTO_SUM);
        return status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 1") ? kRight
                                                                                      : kWrong;
    });
    CHECK(codes == std::vector<int>{kRight, -SIGKILL});
}

TEST_CASE("ranks hear of a process that dies while they read its memory") {
    for (const int ms : {0, 5, 20, 60}) {
        CAPTURE(ms);
        const auto codes = test::on_processes(kRanks, [&](stretto_comm comm) {
            test::OnDevice device;
            check(stretto_force_algorithm(comm, "direct"));
            Vector vector(device, kCount);
            if (!vector.sum(comm) || !vector.sum(comm))
                return kWrong;
            const simulated_cuda::Speed slow{20'000, 0};
            simulated_cuda::simulated_cuda_speed(&slow);
            if (stretto_rank(comm) == 1)
                std::thread([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                    kill(getpid(), SIGKILL);
                }).detach();
            while (vector.sum(comm)) {
            }
            return contains(stretto_last_error(), "rank 1") ? kRight : kWrong;
        });
        CHECK(codes == std::vector<int>{kRight, -SIGKILL, kRight});
    }
}
