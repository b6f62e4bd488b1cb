// SPDX-License-Identifier: BSD-3-Clause
// The profile: measured numbers of the network, how they were measured, and measured times of
// calls.
#pragma once

#include <string>
#include <vector>

#include "cost/concurrency.hpp"
#include "cost/price.hpp"
#include "select/measured.hpp"

namespace stretto::select {

// What pairs of ranks move at the same time: pairs on one host, and of two hosts.
struct Concurrency {
    cost::Concurrency inside, between;
    bool measured() const { return inside.measured() || between.measured(); }
    bool operator==(const Concurrency &) const = default;
};

struct Profile {
    // Between two ranks of one host; between ranks of two hosts.
    cost::Link inside{.latency = 1e-6, .overhead = 1e-6, .byte = 1e-10, .reduce = 1e-10};
    cost::Link between{.latency = 4e-5, .overhead = 2e-5, .byte = 8.5e-9, .reduce = 1e-10};
    double common = 0; // seconds that each piece between hosts takes of a shared part (price.hpp)
    // For users: where, when and how it was measured.
    std::string source = "assumed: 1 Gbit/s Ethernet";
    std::string how_inside = "assumed", how_between = "assumed"; // each of the two
    std::string host, date;      // of rank 0 when it was measured; "": it was not
    std::vector<Measured> calls; // times of calls, which correct prices (correction.hpp)
    Concurrency concurrency;     // as `stretto bench pairs` measured it; no price uses it
    bool of_links = true;        // false: the links were not measured, but are assumed

    // If the links were not measured, the table of rules.hpp counts more than prices.
    bool measured() const { return of_links && !date.empty(); }

    bool operator==(const Profile &) const = default;
};

// The range of a number.  Beyond it, the measurement was disturbed, or the number is a typing
// error.
struct Bounds {
    double least, most;
    bool hold(double number) const { return number >= least && number <= most; } // NaN: no
};
inline constexpr Bounds kLatencies{0, 10}, kOverheads{0, 1}; // seconds
inline constexpr Bounds kBytes{1e-13, 1e-3};                 // 10 TB/s to 1 KB/s
inline constexpr Bounds kReductions{1e-13, 1e-3};
inline constexpr Bounds kCalls{1e-9, 1e4}; // seconds
inline constexpr Bounds kSkews{0, 1e3};
inline constexpr Bounds kThroughputs{1e-3, 1e14}; // bytes per second
inline constexpr Bounds kRelatives{1e-4, 1e6};

} // namespace stretto::select
