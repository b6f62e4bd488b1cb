// SPDX-License-Identifier: BSD-3-Clause
// What a schedule costs over a network, computed from the schedule itself.
//
//   message   travels in pieces of at most `slice` bytes: its blocks in the order of its list,
//             together as long as they fit; a block that is longer is cut into equal slices
//   piece     takes overhead + byte * its bytes of the out-port of its sender, and as long, from
//             the same moment on or when it is free, of the in-port of its receiver; it is there
//             `latency` after that.  Reducing it takes reduce * its bytes of the receiver's
//             processor
//   port      one piece at a time, first come, first served; out and in go on together
//   order     that of the language, slice by slice: a piece starts when what its send and its
//             receive are ordered after has done the same slices.  If it is eager, it starts
//             without its receive, which takes it when it is there: that is how the engine's
//             streams are
//
// Hockney's alpha, as papers use it, is latency + overhead, and where each message needs the one
// before, a price without cutting is theirs.  With it the model says what theirs cannot: while one
// slice is on its way the next is sent, so a stream to a neighbour pays its latency once.
//
//   ring, u = m / P uncut           2 (P - 1) (latency + overhead + byte u + reduce u / 2)
//   u in n slices, n large enough   2 (P - 1) (n overhead + byte u) + latency
//
// The latency of a message that needs nothing of the one before is hidden without slices too:
// circulant on 3, 5, 6, 9, 10, 11, 12, 17, ... ranks pays fewer latencies than it sends messages.
//
// Copies cost nothing, blocks without bytes do not travel, and all positions come at once.  Of a
// schedule with a token the first path is priced, as if all knew it from the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::cost {

class IndexedNetwork;

// Seconds, seconds per byte.
struct Link {
    double latency = 0;
    double overhead = 0;
    double byte = 0;
    double reduce = 0;
    bool operator==(const Link &) const = default;
};

// Where positions are.  Those of one host reach each other by `inside`, others by `between`.  All
// positions of a host share one port each way for what goes between hosts, so it is worth something
// where positions are placed.  What a position reduces of what it holds already costs what `inside`
// says, or `between` where no two positions share a host.
struct Network {
    std::vector<int> host_of; // by position, any numbers; empty: a host for each
    Link inside, between;
    std::size_t eager = 0; // pieces of up to so many bytes do not wait for their receive
    // Of each piece between hosts, seconds of something that all of them share: a switch that is
    // slower than its ports, or the processors where hosts are virtual.  Nothing is done before all
    // pieces have had it.  Meanwhile the ports go on; but of messages that a position starts at
    // once, processors first do the sender's part for all positions, so half of it comes on top.
    double common = 0;
};

struct Price {
    double seconds = 0;     // until the last position is done
    std::int64_t steps = 0; // messages on the longest dependent chain, as they travel
    // Of the position that has most of each.
    std::int64_t messages = 0; // sent, uncut
    std::size_t bytes_sent = 0;
    std::size_t bytes_received = 0;
    std::size_t bytes_reduced = 0;
    double pieces = 0;    // between hosts, of all positions together
    std::size_t work = 0; // that it took to find
};

// Slices of one block that are walked, at most.  Each then stands for several and takes the
// overheads of all of them; only the filling of a pipeline is coarser than it would be.
inline constexpr std::size_t kMostSlices = 8;
// Where all positions are walked, slices of all blocks of all of them; at least one for each.
inline constexpr std::size_t kMostCells = 1u << 19;

// What a price is worth knowing at.
struct Limits {
    // What it may take to find: blocks of ops, pieces of them, and pairs that wait for each other.
    std::size_t work = 1u << 24;
    // A schedule that takes longer is left as soon as that shows.
    double seconds = std::numeric_limits<double>::infinity();
};

// For a vector of `count` elements of `element` bytes; seconds.  Of a schedule that takes longer
// than the limit, some seconds beyond it, and no counts but of the work.
//
// Of a symmetric schedule only positions that stand for others are walked (symmetry_classes.hpp):
// one if each position has a host of its own or all share one, and the positions of one host where
// hosts have as many in order.  So P = 1024 takes less than a millisecond a position where it has
// log2 P messages, and some where it has P.  Blocks then count as equally long, which they are to
// an element.  Where short blocks travel in several pieces of each message, other positions have
// others together, and all of them would take up to a fifth longer.
//
// Else all positions are walked: some ten milliseconds at P = 1023 where a position has log2 P
// messages (rabenseifner, of P blocks each longer than a slice: 1.6 s), but seconds where it has P.
//
// Throws Error(argument) if the schedule is not well formed, its messages do not pair, or it
// deadlocks; if the partition is not for this count; if `slice` or `element` is 0, a number of the
// network is negative or not finite, or it has not as many positions.  Throws Error(unsupported)
// if there is more work than the limit.
Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const Network &network, const Limits &limits = {});
// Of many schedules over one network (indexed_network.hpp).
Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const IndexedNetwork &network, const Limits &limits = {});

} // namespace stretto::cost
