// SPDX-License-Identifier: BSD-3-Clause
// Times of calls, as trials and `stretto tune` have measured them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/contract.hpp"

namespace stretto::select {

// One algorithm at one size.
struct Timing {
    enum class By : std::uint8_t {
        trial, // repeated calls of a program (trial.hpp), with the lateness of its ranks
        tune,  // `stretto tune`
    };
    std::size_t bytes = 0; // of the whole vector
    std::string algorithm; // with parameters
    // Median over calls.  If ranks were made to come late: from the last arrival to the last
    // finish; else the time of the slowest rank.
    double seconds = 0;
    double skew = 0; // the longest lateness, in multiples of the call's time
    std::uint32_t calls = 0;
    By by = By::tune;

    // Whether it measures the same as `other`, and so replaces it.
    bool repeats(const Timing &other) const {
        return bytes == other.bytes && algorithm == other.algorithm && by == other.by &&
               (skew > 0) == (other.skew > 0);
    }
    bool operator==(const Timing &) const = default;
};

// The measured times of one collective with this number of ranks in this placement.
struct Measured {
    schedule::Collective collective = schedule::Collective::allreduce;
    int ranks = 1, hosts = 1;
    // The host of each rank, numbered in the order in which they first occur; empty if each rank
    // has a host of its own, or all are on one host.
    std::vector<int> host_of;
    std::vector<Timing> times;

    bool alike(const Measured &other) const {
        return collective == other.collective && ranks == other.ranks && hosts == other.hosts &&
               host_of == other.host_of;
    }
    bool operator==(const Measured &) const = default;
};

std::string_view name(Timing::By by);

// Limits of a profile.
inline constexpr std::size_t kMostMeasuredKinds = 64; // kinds of calls
inline constexpr std::size_t kMostTimings = 4096;     // of all of them
// The most ranks whose hosts are written one by one: a file with more would be too long.
inline constexpr std::size_t kMostPlacedRanks = 4096;

// Adds the timings of `more`; each replaces one that it repeats.  Drops timings beyond the limits
// of a profile.
void add(std::vector<Measured> &all, const Measured &more);

} // namespace stretto::select
