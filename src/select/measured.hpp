// SPDX-License-Identifier: BSD-3-Clause
// What calls took, as trials and `stretto tune` measured it.
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
        trial, // calls of a program that repeated (trial.hpp): what ranks come late is part of them
        tune,  // `stretto tune`
    };
    std::size_t bytes = 0; // of the whole vector
    std::string algorithm; // with parameters
    // Median over calls: from the last arrival to the last finish if ranks were made to come late,
    // else what the slowest rank took.
    double seconds = 0;
    double skew = 0; // ranks came late by up to so many times what the call takes
    std::uint32_t calls = 0;
    By by = By::tune;

    // About the same, so that a later one takes its place.
    bool repeats(const Timing &other) const {
        return bytes == other.bytes && algorithm == other.algorithm && by == other.by &&
               (skew > 0) == (other.skew > 0);
    }
    bool operator==(const Timing &) const = default;
};

// All that is known of one collective, of so many ranks that are placed like this.
struct Measured {
    schedule::Collective collective = schedule::Collective::allreduce;
    int ranks = 1, hosts = 1;
    // Of each rank, numbered in the order in which ranks have them; empty: each has a host of its
    // own, or all have one.
    std::vector<int> host_of;
    std::vector<Timing> times;

    bool alike(const Measured &other) const {
        return collective == other.collective && ranks == other.ranks && hosts == other.hosts &&
               host_of == other.host_of;
    }
    bool operator==(const Measured &) const = default;
};

std::string_view name(Timing::By by);

// What a profile may hold.
inline constexpr std::size_t kMostMeasuredKinds = 64; // kinds of calls
inline constexpr std::size_t kMostTimings = 4096;     // of all of them
// Ranks whose hosts are written one by one, as a file of more would be too long to be read.
inline constexpr std::size_t kMostPlacedRanks = 4096;

// Adds the timings of `more`, each in the place of one that it repeats; but none beyond what a
// profile may hold.
void add(std::vector<Measured> &all, const Measured &more);

} // namespace stretto::select
