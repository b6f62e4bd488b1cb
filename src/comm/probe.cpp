// SPDX-License-Identifier: BSD-3-Clause
#include "comm/probe.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

// Rank 0 overwrites 64 KiB that rank 1 has just read: 2 to 7 ns a line where the two cores share a
// cache, three to four times as long where they do not.  A virtual machine can change between the
// two at any moment, so every measurement prints this number beside it.
double probe(Communicator &communicator) {
    const transport::Placement &placement = communicator.segment()->placement();
    if (communicator.size() == 1 || placement.host_of(0) != placement.host_of(1))
        return 0; // nothing to measure
    constexpr std::size_t kBytes = 64 << 10;
    constexpr int kRounds = 9;
    double result = 0;
    std::uint64_t *lines = nullptr;
    double where = 0; // 1 + offset of the lines in rank 0's heap; exact in a double
    communicator.together([&] {
        if (communicator.rank() == 0) {
            lines = static_cast<std::uint64_t *>(communicator.heap().allocate(kBytes));
            where = static_cast<double>(communicator.heap().locate(lines, kBytes));
        }
    });
    communicator.play(
        {schedule::Collective::broadcast, nullptr, &where, 1, Dtype::f64, ReduceOp::sum, 0});
    communicator.together([&] {
        if (communicator.rank() == 1)
            lines = reinterpret_cast<std::uint64_t *>(communicator.segment()->heap(0) +
                                                      static_cast<std::size_t>(where) - 1);
    });
    std::array<double, kRounds> seen{};
    for (double &each : seen) {
        if (communicator.rank() == 1)
            for (std::size_t i = 0; i < kBytes / 8; i += 8)
                (void)*static_cast<volatile std::uint64_t *>(lines + i);
        communicator.barrier();
        if (communicator.rank() == 0) {
            const std::uint64_t start = now_ticks();
            for (std::size_t i = 0; i < kBytes / 8; i += 8)
                *static_cast<volatile std::uint64_t *>(lines + i) = start;
            each = static_cast<double>(now_ticks() - start) * ns_per_tick() / (kBytes / 64);
        }
        communicator.barrier();
    }
    std::nth_element(seen.begin(), seen.begin() + kRounds / 2, seen.end());
    result = seen[kRounds / 2];
    communicator.play(
        {schedule::Collective::broadcast, nullptr, &result, 1, Dtype::f64, ReduceOp::sum, 0});
    if (communicator.rank() == 0)
        communicator.heap().free(lines);
    return result;
}

} // namespace stretto::comm
