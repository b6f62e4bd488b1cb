// SPDX-License-Identifier: BSD-3-Clause
// How much concurrency a node has: the throughput of k pairs of ranks that send at the same time,
// as `stretto bench pairs` measures it (the multiple bandwidth test of Bayatpour et al. 2017,
// DPML).
//
//   throughput    bytes per second that one pair moves, by the size of its messages
//   relative      what k pairs move together over that: k if they do not disturb one another, 1 if
//                 they share what one of them fills
//
//   messages of     one pair      pairs 1     2     4
//        4 B          12 MB/s           1   1.9   3.7     a core each: they share nothing
//       64 KiB       900 MB/s           1   1.2   1.3
//        4 MiB       950 MB/s           1   1.0   1.0     one pair fills the link
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stretto::cost {

struct Concurrency {
    struct Row {
        std::size_t bytes = 1;        // of a message
        double throughput = 0;        // of one pair, bytes per second
        std::vector<double> relative; // of each number of pairs
        bool operator==(const Row &) const = default;
    };
    std::vector<int> pairs; // ascending, the first is 1
    std::vector<Row> rows;  // ascending in bytes
    std::string how;        // for people: it was measured

    bool measured() const { return !rows.empty(); }
    bool operator==(const Concurrency &) const = default;
};

// The relative throughput of `pairs` pairs that send messages of so many bytes.  Between measured
// numbers it is linear in the number of pairs, and in the logarithm of the bytes to base 2, which
// is taken as linear between powers of two; beyond the least and the most measured bytes it is that
// of these, and more pairs than were measured count as the most measured.
//
// Throws Error(argument) if nothing was measured or there is no pair.
double relative_throughput(const Concurrency &measured, int pairs, std::size_t bytes);

// The most that up to so many pairs move together, over what one pair moves; at least 1.
double most_throughput(const Concurrency &measured, int pairs, std::size_t bytes);

// What so many pairs move together, bytes per second: the throughput of one pair, which is
// interpolated alike, times the relative throughput.
double throughput(const Concurrency &measured, int pairs, std::size_t bytes);

} // namespace stretto::cost
