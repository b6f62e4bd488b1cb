// SPDX-License-Identifier: BSD-3-Clause
// The layout of the memory that the ranks of one host share.
//
//     | header | lines of rank 0, 1, ... | pending bitmaps | shrink members |
//     | cells, bulk of the first rank here | cells, bulk of the second | ...
//     | mailbox 0 -> 0 | 0 -> 1 | ... | P-1 -> P-1 |
//     | what rank 0 shares of a device | rank 1 | ...
//
// It has a place for every rank of the job.  The remote peers (remote_peers.hpp) copy to it what
// ranks of other hosts write.  Only the rings of those ranks are elsewhere (mirror.hpp).
//
// A *ring* holds the publish stream of one rank: it alone writes, all others read.  Each rank has
// two: for its cells, and for payloads that are too long for a cell.  Positions in a stream grow
// for ever; the byte at position x lies at x modulo the ring's size.
//
// Mailboxes carry messages from one rank to another (mailbox.hpp).  There are P^2 of them; each is
// only address space until its pair of ranks uses it.  So is what ranks share of devices
// (shared_device.hpp), until one of them does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/shm/cell.hpp"
#include "transport/shm/entry.hpp"

namespace stretto::transport {

// What a rank publishes in the shrink agreement (shrink_agreement.hpp).
struct alignas(kLineBytes) ShrinkRecord {
    std::atomic<std::uint32_t> come;      // the round that it has entered
    std::atomic<std::uint32_t> listed;    // the round of its list of members; 0: while it writes
    std::atomic<std::uint64_t> completed; // its calls
    std::atomic<std::uint64_t> least;     // completed calls of all ranks on its list
};

// The lines of one rank, written by that rank.
struct LineBlock {
    // Call number << 24 | complete steps of that call, counted without a gap.
    alignas(kLineBytes) std::atomic<std::uint64_t> progress;
    // The doorbell (doorbell.hpp).  Of the rank's sleepers, how many wait for progress of other
    // ranks, and how many sleep on the futex.
    alignas(kLineBytes) std::atomic<std::uint32_t> asleep;
    std::atomic<std::uint32_t> watching, on_futex;
    alignas(kLineBytes) std::atomic<std::int32_t> pid; // in its PID namespace
    std::atomic<std::uint32_t> joined;
    std::atomic<std::uint32_t> left;
    // 1 + its last-level cache; 0: not known.  The founder, the rank that creates the segment,
    // writes it before any other rank maps the segment.
    std::atomic<std::int32_t> cache;
    std::atomic<std::uint32_t> lost; // it is on another host, which is lost
    // For peer_memory.hpp: whether the rank can read the words of the others (an Attach), the
    // address of a word in the rank's own memory, and the word.
    std::atomic<std::uint32_t> attach;
    std::atomic<std::uint64_t> word_at, word;
    std::atomic<std::uint64_t> pid_namespace; // 0: unknown
    std::atomic<std::uint64_t> wait_state;    // in a long wait (wait_state.hpp); else 0
    std::atomic<std::uint64_t> heap; // its window, a range of the job's memory; 0: it has none yet
    Entry entries[kEntries];
    ShrinkRecord shrink_record;
    // For in_place.hpp: the rank's memory as a segment of XPMEM (0: it offers none), and an
    // InPlace.
    std::atomic<std::int64_t> xpmem;
    std::atomic<std::uint32_t> in_place;
    // Passes that an executor performs for this rank now, which may touch memory of others.
    std::atomic<std::uint32_t> passes;
};

// What every rank reads in every call, in one cache line.
struct alignas(kLineBytes) Signals {
    std::atomic<std::uint32_t> failed;   // 0: no; 1: the failure is being posted; 2: it is posted
    std::atomic<std::uint32_t> sleepers; // ranks to notify: asleep, or on other hosts
    std::atomic<std::uint32_t> watchers; // sleepers that wait for progress of other ranks
    std::atomic<std::uint32_t>
        fences; // 1: some rank has no asymmetric barrier, so publishers use fences
    // Allocations that ranks of this host have listed (shared_device.hpp).
    std::atomic<std::uint64_t> listings;
};

// The arrivals that a late-rank detector counts (late_rank_detector.hpp).
struct alignas(kLineBytes) ArrivalCounter {
    std::atomic<std::uint64_t> come;     // ranks, and the sum of their numbers, each one more
    std::atomic<std::uint64_t> decision; // the turn, and the late rank
    // Times of a turn in nanoseconds, for odd and even turns.
    struct Times {
        std::atomic<std::uint64_t> others; // the last but one came, by now_ns()
        std::atomic<std::uint64_t> last;   // the last one came
        std::atomic<std::uint64_t> took;   // the turn before, from then to the end: sum over ranks
    };
    Times times[2];
};
static_assert(sizeof(ArrivalCounter) == kLineBytes);

// The first failure of the communicator, posted once.
struct FailureRecord {
    std::atomic<std::uint32_t> status;
    char message[1024];
};

inline constexpr std::size_t kHugePageBytes = 2u << 20;
inline constexpr std::size_t kMailboxBytes = 65536;

// Whether the rings of a segment have memory.  A rank that takes it at the moment writes `takers` +
// its number.
struct RingRoom {
    enum : std::uint32_t { none, taken, takers };
};

// What the founder writes before any other rank maps the segment.
struct SegmentConfig {
    std::uint32_t ranks = 0; // of the job
    std::uint32_t here = 0;  // the ranks among them that share this memory
    // Cores for all ranks: on one host those of rank 0, as its affinity and cgroup allow; on
    // several hosts ranks times the cores for each rank on the most crowded host or machine, at
    // most one.
    std::uint32_t cores = 0;
    // 1: all hosts are containers of one machine, and share its cores.
    std::uint32_t one_machine = 0;
    std::uint64_t ring_bytes = 0;
    std::uint64_t slice_bytes = 0; // 0: by size
    std::uint64_t heap_bytes = 0;  // window of each rank
    std::uint64_t profile =
        0; // 1: rank 0 names a file (tuning/network.hpp), whose contents it sends to all
    std::uint64_t key = 0; // random: part of every signature
};

struct SegmentHeader : SegmentConfig {
    Signals signals;
    std::atomic<std::uint64_t> decision;  // of the shrink agreement
    std::atomic<std::uint32_t> ring_room; // RingRoom
    ArrivalCounter arrival_counter;
    FailureRecord board;
};

} // namespace stretto::transport
