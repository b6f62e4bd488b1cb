// SPDX-License-Identifier: BSD-3-Clause
// The report of STRETTO_MPI_REPORT: which calls Stretto ran and which it did not, their times, and
// the rank that others waited for.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "kinds.hpp"

namespace stretto::mpi {

class MpiJob;

// The counts of this rank.  They are written under a mutex, which costs time only if a report is
// requested.
class Report {
public:
    // Of this many calls of a kind on a communicator, one is left to the library.
    static constexpr std::uint64_t kSampled = 32;

    void count(Kind kind, Reason reason);
    // A call of `bytes` bytes, by Stretto or by the library.
    void time(Kind kind, bool by_stretto, std::size_t bytes, double seconds);

    // Sums up over all ranks and prints, at rank 0.  A collective over MPI_COMM_WORLD.
    // `waited`: seconds that this rank has waited for others in Stretto.
    void print(const MpiJob &job, double waited);

private:
    static constexpr std::size_t kSizes = 48; // 0 bytes, 1 byte, from 2, from 4, ...
    struct Times {
        double seconds = 0;
        std::uint64_t calls = 0;
    };
    struct Numbers {
        std::array<std::array<std::uint64_t, kReasons>, kKinds> reasons{};
        std::array<std::array<std::array<Times, 2>, kSizes>, kKinds> times{};
        double waited = 0;
    };

    std::mutex mutex_;
    Numbers numbers_;
};

} // namespace stretto::mpi
