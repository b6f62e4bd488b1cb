// SPDX-License-Identifier: BSD-3-Clause
// Ranks as processes, each with a device of its own.  A process cannot use a device after a fork,
// so nothing here uses one before.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "device/allreduce.hpp"
#include "device/message_exchange.hpp"
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

using test::allreduce;
using test::check;
using test::contains;

constexpr int kRanks = 3;

} // namespace

TEST_CASE("processes add what is on their devices") {
    const auto codes = test::on_processes(5, [](stretto_comm comm) {
        const test::OnDevice device(stretto_rank(comm) == 2 ? test::OnDevice::Buffers::asked
                                                            : test::OnDevice::Buffers::all);
        for (const std::size_t count : {std::size_t{1}, std::size_t{1009}, std::size_t{300'007}})
            for (int round = 0; round < 5; ++round)
                if (test::play(comm, allreduce(count)) != "")
                    return 1;
        return 0;
    });
    CHECK(codes == std::vector<int>(5, 0));
}

TEST_CASE("passes wait for pinned memory if there is little, also while operands wait for a rank") {
    const test::With silent("STRETTO_WARN", "0"); // of rings that cannot be registered
    const auto codes = test::on_processes(kRanks, [](stretto_comm comm) {
        const test::OnDevice device;
        check(stretto_force_algorithm(comm, "ring"));
        simulated_cuda::simulated_cuda_limit_pinned(200'000); // 128 KiB for passes, 64 ahead
        for (const std::size_t count :
             {std::size_t{1009}, std::size_t{100'003}, std::size_t{700'001}})
            for (int late = 0; late < kRanks; ++late) {
                const auto played = test::prepare(comm, allreduce(count));
                if (stretto_rank(comm) == late)
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                check(played->run());
                if (played->verdict() != "")
                    return 8;
            }
        return 7;
    });
    CHECK(codes == std::vector<int>(kRanks, 7));
}

TEST_CASE("without pinned memory the error says what to do") {
    const test::With silent("STRETTO_WARN", "0");
    const auto codes = test::on_processes(kRanks, [](stretto_comm comm) {
        const test::OnDevice device;
        check(stretto_force_algorithm(comm, "ring"));
        simulated_cuda::simulated_cuda_limit_pinned(1);
        const auto played = test::prepare(comm, allreduce(1009));
        const stretto_status status = played->run();
        return status == STRETTO_ERR_MEMORY && contains(stretto_last_error(), "ulimit -l") ? 7 : 8;
    });
    CHECK(codes == std::vector<int>(kRanks, 7));
}

TEST_CASE("the first call in the order of a stream asks the driver before the stream waits") {
    const auto codes = test::on_processes(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        constexpr std::size_t kCount = 1009;
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4 * kCount, true));
        auto *const here = static_cast<std::int32_t *>(std::calloc(kCount, 4));
        void *const stream = test::stream_with(test::kBlocking);
        check(stretto_force_algorithm(comm, "ring"));
        // A call with host memory, then one with memory of the device: a stream may wait for the
        // first when the second comes.
        simulated_cuda::simulated_cuda_reset();
        check(stretto_stream_begin(stream));
        for (std::int32_t *const buffer : {here, data})
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, buffer, kCount, STRETTO_INT32,
                                     STRETTO_SUM, nullptr));
        check(stretto_stream_end());
        check(stretto_stream_synchronize(data, stream));
        simulated_cuda::Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        return counts.asked_while_waiting == 0 && counts.host_registrations > 0 &&
                       counts.copies > 0 && counts.pageable_copies == 0
                   ? 7
                   : 8;
    });
    CHECK(codes == std::vector<int>(kRanks, 7));
}

TEST_CASE("ranks hear of a process that dies in any stage") {
    constexpr int kTold = 7, kWrong = 8;
    for (const int ms : {0, 10, 40, 80, 120}) {
        CAPTURE(ms);
        const auto codes = test::on_processes(kRanks, [&](stretto_comm comm) {
            const test::OnDevice device;              // each process has its own
            const simulated_cuda::Speed slow{100, 4}; // 200 ms for the vector, each way
            check(stretto_force_algorithm(comm, "ring"));
            const auto played = test::prepare(comm, allreduce(200'003));
            simulated_cuda::simulated_cuda_speed(&slow);
            if (stretto_rank(comm) == 1) {
                std::thread([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                    kill(getpid(), SIGKILL);
                }).detach();
                (void)played->run();
                return kWrong;
            }
            const stretto_status status = played->run();
            return status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 1") ? kTold
                                                                                          : kWrong;
        });
        CHECK(codes == std::vector<int>{kTold, -SIGKILL, kTold});
    }
}

TEST_CASE("ranks hear of a process that dies in any stage of its messages") {
    constexpr int kTold = 7, kWrong = 8;
    for (const int ms : {0, 5, 20, 40, 70}) {
        CAPTURE(ms);
        const auto codes = test::on_processes(test::kExchangeRanks, [&](stretto_comm comm) {
            const test::OnDevice device(test::OnDevice::Buffers::asked); // each has its own
            const simulated_cuda::Speed slow{100, 10}; // 30 ms for a long message, each way
            test::Exchange exchange(comm);
            simulated_cuda::simulated_cuda_speed(&slow);
            std::thread ends;
            if (exchange.rank == 1)
                ends = std::thread([ms] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                    kill(getpid(), SIGKILL);
                });
            for (;;) {
                std::string text;
                const stretto_status status = exchange.run(text);
                if (status != STRETTO_OK)
                    return status == STRETTO_ERR_PEER && contains(text, "rank 1") &&
                                   exchange.rank != 1
                               ? kTold
                               : kWrong;
            }
        });
        CHECK(codes == std::vector<int>{kTold, -SIGKILL, kTold});
    }
}
