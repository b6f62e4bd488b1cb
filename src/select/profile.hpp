// SPDX-License-Identifier: BSD-3-Clause
// What the selection knows of the network: numbers that were measured, and how.
#pragma once

#include <string>

#include "select/price.hpp"

namespace stretto::select {

struct Profile {
    // Between two ranks of one host, and of two.
    Link inside{.latency = 1e-6, .overhead = 1e-6, .byte = 1e-10, .reduce = 1e-10};
    Link between{.latency = 4e-5, .overhead = 2e-5, .byte = 8.5e-9, .reduce = 1e-10};
    double common = 0;     // of each piece between hosts, what all hosts share (price.hpp); seconds
    bool measured = false; // if not, the table of rules.hpp counts more than prices
    std::string source = "assumed: 1 Gbit/s Ethernet"; // for people: measured by whom, when, how

    bool operator==(const Profile &) const = default;
};

} // namespace stretto::select
