// SPDX-License-Identifier: BSD-3-Clause
// The price of a schedule: its time over a network, computed from the schedule itself.
//
//   message   travels in pieces of at most `slice` bytes.  Its blocks follow the order of its list;
//             several share a piece as long as they fit; a longer block is cut into equal slices
//   piece     occupies the out-port of its sender for overhead + byte * (its bytes), and the
//   in-port
//             of its receiver as long, from the same moment on or from when that port is free.  It
//             arrives `latency` after that.  Reducing it occupies the receiver's processor for
//             reduce * (its bytes)
//   port      serves one piece at a time, first come, first served; out and in are independent.  A
//             port that ranks of a host share serves R pieces in the time of one, if several pairs
//             of ranks were measured to move R times what one pair moves (concurrency.hpp)
//   order     that of the language, slice by slice: a piece starts when the ops before its send and
//             its receive have done the same slices.  An eager piece starts without its receive, as
//             pieces in the engine's streams do; the receive takes it after it has arrived
//
// Hockney's alpha, as papers use it, is latency + overhead.  If each message needs the one before,
// a price without cutting equals the papers'.  With overhead apart from latency, the model shows
// more: while one slice is on its way the next is sent, so a stream to a neighbour pays its latency
// once.
//
//   ring, u = m / P uncut           2 (P - 1) (latency + overhead + byte u + reduce u / 2)
//   u in n slices, n large enough   2 (P - 1) (n overhead + byte u) + latency
//
// The latency of a message that does not need the one before is hidden also without slices:
// circulant on 3, 5, 6, 9, 10, 11, 12, 17, ... ranks pays fewer latencies than it sends messages.
//
// Copies cost nothing, blocks without bytes do not travel, and all positions come at once.  Of a
// schedule with a token, the first path is priced, as if all positions knew the token from the
// start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cost/concurrency.hpp"
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

// The placement of positions, and the links between them.  Positions of one host reach each other
// by `inside`, others by `between`.  All positions of a host share one port each way for messages
// to other hosts, so prices depend on the placement; and one for messages to each other, if it was
// measured what pairs of them move at the same time.  A position that reduces data that it already
// holds pays `reduce` of `inside`; of `between`, if no two positions share a host.
struct Network {
    std::vector<int> host_of; // by position, any numbers; empty: each has a host of its own
    Link inside, between;
    Concurrency inside_pairs = {}, between_pairs = {};
    std::size_t eager = 0; // pieces of up to this many bytes do not wait for their receive
    // Bytes that a position may have sent and that some reader has not taken (streams.hpp).  It
    // limits positions that are ahead of others, so it counts where they come at different times
    // (elapsed.hpp), and a price() does without.
    double ring = std::numeric_limits<double>::infinity();
    // Seconds of a part that all hosts share, for each piece between hosts: of a switch that is
    // slower than its ports, or of the processors under virtual machines.  The schedule takes at
    // least as long as this part needs for all pieces; the ports work meanwhile.  If a position
    // starts several messages at once, processors do the sender's half of this part first, so half
    // of it is added.
    double common = 0;
    // Cores that all hosts share, as containers of one machine do, if they are fewer than
    // positions; 0: each host has its own.  Then `common` is what a message costs these cores;
    // pieces behind its first one cost them little.  It adds to the time that the positions wait
    // for one another: c cores take at most a c-th of all work and 1 - 1/c of the longest chain
    // (Graham, Bounds on multiprocessing timing anomalies, 1969).
    unsigned cores = 0;
};

// The part of the longest chain that counts beside the work of so many cores.
constexpr double waiting_share(unsigned cores) {
    return 1 - 1.0 / cores;
}

struct Price {
    double seconds = 0;     // until the last position is done
    std::int64_t steps = 0; // messages on the longest dependent chain
    // Each of the position with the most.
    std::int64_t messages = 0; // that it sends, uncut
    std::size_t bytes_sent = 0;
    std::size_t bytes_received = 0;
    std::size_t bytes_reduced = 0;
    // Between hosts, of all positions together: messages with bytes, and pieces of these.
    double messages_between = 0, pieces = 0;
    std::size_t work = 0; // that computing this price took
};

// At most this many slices of one block are computed.  If there are more, each stands for several
// and pays the overheads of all of them; only the filling of a pipeline is then less exact.
inline constexpr std::size_t kMostSlices = 8;
// If all positions are computed: at most this many slices of all their blocks; at least one of
// each.
inline constexpr std::size_t kMostCells = 1u << 19;

// Limits of the work for a price.
struct Limits {
    // Blocks of ops, pieces of these, and pairs of tasks of which one waits for the other.
    std::size_t work = 1u << 24;
    // As soon as a schedule is known to take longer, its price is not computed any further.
    double seconds = std::numeric_limits<double>::infinity();
};

// For a vector of `count` elements of `element` bytes.  If the schedule takes longer than the
// limit, the seconds are some number beyond the limit, and of the counts only `work` is filled in.
//
// Of a symmetric schedule only representatives are computed (symmetry_classes.hpp): one position,
// if each position has a host of its own or all share one; the positions of one host, if all hosts
// have equally many positions in order.  So P = 1024 takes less than a millisecond for each
// representative with log2 P messages, and a few milliseconds with P messages.  Blocks then count
// as equally long, which they are to within an element.  If short blocks travel in several pieces
// of each message, other positions have other blocks in one piece, and the real time is up to a
// fifth longer.
//
// Of other schedules all positions are computed: about ten milliseconds at P = 1023 if a position
// has log2 P messages (rabenseifner, with P blocks each longer than a slice: 1.6 s), seconds if it
// has P.
//
// Throws Error(argument) if the schedule is not well formed, its messages do not pair, or it
// deadlocks; if the partition is not for this count; if `slice` or `element` is 0; if a number of
// the network is negative or not finite; or if the network has another number of positions.  Throws
// Error(unsupported) if there is more work than the limit.
Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const Network &network, const Limits &limits = {});
// The same for many schedules over one network (indexed_network.hpp).
Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const IndexedNetwork &network, const Limits &limits = {});

} // namespace stretto::cost
