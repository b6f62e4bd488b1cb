// SPDX-License-Identifier: BSD-3-Clause
// The state of the machine, as the memory system shows it.
#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

// Rank 0 overwrites 64 KiB that rank 1 has just read: 2 to 7 ns a line where the two cores share a
// cache, three to four times as long where they do not.  A virtual machine can change between the
// two at any moment, so every measurement prints this number beside it.
double Communicator::probe() {
    const transport::Placement &placement = segment_->placement();
    if (size() == 1 || placement.host_of(0) != placement.host_of(1))
        return 0; // nothing to measure
    constexpr std::size_t kBytes = 64 << 10;
    constexpr int kRounds = 9;
    double result = 0;
    std::uint64_t *lines = nullptr;
    double where = 0; // 1 + offset of the lines in rank 0's heap; exact in a double
    together([&] {
        if (rank() == 0) {
            lines = static_cast<std::uint64_t *>(heap_.allocate(kBytes));
            where = static_cast<double>(heap_.locate(lines, kBytes));
        }
    });
    play({Collective::broadcast, nullptr, &where, 1, Dtype::f64, ReduceOp::sum, 0});
    together([&] {
        if (rank() == 1)
            lines = reinterpret_cast<std::uint64_t *>(segment_->heap(0) +
                                                      static_cast<std::size_t>(where) - 1);
    });
    std::array<double, kRounds> seen{};
    for (double &each : seen) {
        if (rank() == 1)
            for (std::size_t i = 0; i < kBytes / 8; i += 8)
                (void)*static_cast<volatile std::uint64_t *>(lines + i);
        barrier();
        if (rank() == 0) {
            const std::uint64_t start = now_ticks();
            for (std::size_t i = 0; i < kBytes / 8; i += 8)
                *static_cast<volatile std::uint64_t *>(lines + i) = start;
            each = static_cast<double>(now_ticks() - start) * ns_per_tick() / (kBytes / 64);
        }
        barrier();
    }
    std::nth_element(seen.begin(), seen.begin() + kRounds / 2, seen.end());
    result = seen[kRounds / 2];
    play({Collective::broadcast, nullptr, &result, 1, Dtype::f64, ReduceOp::sum, 0});
    if (rank() == 0)
        heap_.free(lines);
    return result;
}

} // namespace stretto::comm
