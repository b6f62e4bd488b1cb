// SPDX-License-Identifier: BSD-3-Clause
// Messages in the order of a stream between processes: one of which dies, and what the driver is
// asked for.
#include "doctest.h"

#include <csignal>
#include <cstddef>
#include <vector>

#include "device/ordered_message.hpp"
#include "device/ordered_vector.hpp"
#include "device/simulated_cuda.hpp"
#include "support/processes.hpp"
#include "support/text.hpp"

namespace {

using test::check;
using test::contains;
using test::In;
using test::OnDevice;
using test::Place;
using test::receive;
using test::send;
using test::Stream;
using test::synchronize;
using test::Then;

} // namespace

TEST_CASE("a rank that dies ends the messages of streams for which nobody waits") {
    const auto codes = test::on_processes(2, [](stretto_comm comm) {
        OnDevice device(OnDevice::Buffers::asked);
        Place buffer(device, 20'000, true);
        Stream stream;
        stream.open();
        if (stretto_rank(comm) == 1)
            (void)raise(SIGKILL);
        {
            const In order(stream);
            check(receive(comm, buffer, 1, 0));
        }
        synchronize(stream, buffer);
        const bool failed = stretto_barrier(comm) == STRETTO_ERR_PEER &&
                            contains(stretto_last_error(), "rank 1 has died");
        return failed ? test::kRight : test::kWrong;
    });
    CHECK(codes == std::vector<int>{test::kRight, -SIGKILL});
}

TEST_CASE("a repeated message is one copy, and asks the driver for nothing") {
    constexpr std::size_t kBytes = 300'001;
    for (const Then then : {Then::wait, Then::go_on})
        test::on_free_ranks(2, [&](stretto_comm comm) {
            OnDevice device(OnDevice::Buffers::asked);
            const int rank = stretto_rank(comm);
            Place buffer(device, kBytes, true);
            Stream stream;
            stream.open();
            bool right = true;
            for (int number = 0; number < 4; ++number) {
                if (rank == 0)
                    buffer.fill(stream, 0, 1, number);
                synchronize(stream, buffer);
                check(stretto_barrier(comm));
                simulated_cuda::simulated_cuda_reset();
                stretto_request request = nullptr;
                {
                    const In order(stream, then);
                    check(rank == 0 ? send(comm, buffer, 1, 0, &request)
                                    : receive(comm, buffer, 0, 0, &request));
                }
                check(stretto_wait(&request));
                const simulated_cuda::Counts counts = test::counted();
                right = right && counts.asked_while_waiting == 0 && counts.pageable_copies == 0 &&
                        (number < 2 || (counts.host_allocations == 0 && counts.opened == 0 &&
                                        counts.host_registrations == 0));
                // While a stream waits, nothing is opened for its message, but for the next.
                if (then == Then::go_on || number > 0)
                    right = right && counts.copies == (rank == 0 ? 0 : 1);
                right = right && (rank == 0 || buffer.holds_now(0, 1, number));
                check(stretto_barrier(comm));
            }
            return right ? test::kRight : test::kWrong;
        });
}
