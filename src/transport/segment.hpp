// SPDX-License-Identifier: BSD-3-Clause
// The memory that the ranks of one host share.
//
// One segment per communicator, created by descriptor, so that no name can be left behind: the
// kernel frees it with the last process, however that dies.
//
//     | header | line block of rank 0 | ... | news of rank 0 | ... | roll of rank 0 | ...
//     | cells, bulk of rank 0 | cells, bulk of rank 1 | ...
//     | mailbox 0 -> 0 | 0 -> 1 | ... | P-1 -> P-1 |
//
// A *ring* holds the publish stream of one rank: it alone writes, all others read.  Each rank has
// two, for its cells and for payloads too long to lie in a cell.  A ring is mapped twice in a row,
// so that nothing in it wraps.  Positions in a stream grow for ever; the byte at position x lies at
// x modulo the ring's size.
//
// Mailboxes carry messages from one rank to another (mailbox.hpp).  There are P^2 of them, so they
// are address space until a pair of ranks uses its own.
//
// A job on several hosts has one segment on each.  It has a place for every rank of the job, and
// what ranks of other hosts write there is brought by a bridge (bridge.hpp).  Only the rings of
// those are not in the segment: each reader has their cells in memory of its own, its *mirror*, and
// long payloads beside it (payloads.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/status.hpp"
#include "transport/cell.hpp"
#include "transport/placement.hpp"
#include "transport/standing.hpp"

namespace stretto::transport {

// What a rank says of a call when it enters: read only by those who diagnose.
struct alignas(kLine) Entry {
    std::atomic<std::uint64_t> sequence; // 1 + the call's number; 0: never used
    std::atomic<std::uint64_t> signature;
    std::atomic<std::uint64_t> count;
    std::atomic<std::uint64_t> what; // packed by the engine's owner: collective, dtype, op, root
    std::atomic<std::uint64_t> output_heap; // as the engine's Call says
    std::atomic<bool> in_place;
};
static_assert(sizeof(Entry) == kLine);
inline constexpr std::size_t kEntries = 8;

// What a rank says when the roll is called (roll_call.hpp).
struct alignas(kLine) Roll {
    std::atomic<std::uint32_t> come;      // the round to which it has come
    std::atomic<std::uint32_t> listed;    // the round of its list of members; 0: while it writes
    std::atomic<std::uint64_t> completed; // its calls
    std::atomic<std::uint64_t> least;     // completed calls of all who are on its list
};

// What is a rank's own, each line written by that rank.
struct LineBlock {
    // Call number << 24 | steps of it that are complete, without a gap.
    alignas(kLine) std::atomic<std::uint64_t> progress;
    // The doorbell (doorbell.hpp).
    alignas(kLine) std::atomic<std::uint32_t> asleep;
    alignas(kLine) std::atomic<std::int32_t> pid;
    std::atomic<std::uint32_t> joined;
    std::atomic<std::uint32_t> left;
    std::atomic<std::uint32_t> lost;     // of another host, and nothing comes from there any more
    std::atomic<std::uint64_t> standing; // where it has waited long (standing.hpp); 0: nowhere
    Entry entries[kEntries];
    Roll roll;
};

// Whether a rank still takes part.
enum class Presence { here, left, dead };
const char *words(Presence presence); // "has died"

// What everybody looks at in every call, in one line.
struct alignas(kLine) Signals {
    std::atomic<std::uint32_t> failed;   // 0: no; 1: the failure is being posted; 2: it is posted
    std::atomic<std::uint32_t> sleepers; // ranks that must be told, because they sleep or are far
    std::atomic<std::uint32_t> fences;   // 1: some rank has no asymmetric barrier, publishers fence
};

// Who has come to the calls of a muster (muster.hpp).
struct alignas(kLine) Turnout {
    std::atomic<std::uint64_t> come;    // ranks, and the sum of their numbers, each one more
    std::atomic<std::uint64_t> verdict; // the turn, and who is late
    // Of a turn, by whether its number is odd, in nanoseconds.
    struct Times {
        std::atomic<std::uint64_t> others; // the last but one came, by now_ns()
        std::atomic<std::uint64_t> last;   // the last one came
        std::atomic<std::uint64_t> took;   // the turn before, from then to the end: sum over ranks
    };
    Times times[2];
};
static_assert(sizeof(Turnout) == kLine);

// The first failure of the communicator, posted once.
struct Board {
    std::atomic<std::uint32_t> status;
    char message[1024];
};

inline constexpr std::size_t kHugePage = 2u << 20;
inline constexpr std::size_t kMailboxBytes = 65536;

struct SegmentHeader {
    std::uint64_t magic;
    std::uint32_t ranks;
    std::uint32_t cores; // of rank 0, as its affinity and cgroup allow: the same for all
    std::uint64_t ring_bytes;
    std::uint64_t slice_bytes; // 0: by size
    std::uint64_t heap_bytes;  // window of each rank
    std::uint64_t profile;     // 1: rank 0 names one (comm/network.cpp), which it tells all
    std::uint64_t key;         // random: part of every signature
    Signals signals;
    std::atomic<std::uint64_t> verdict; // of the roll call
    Turnout turnout;
    Board board;
};

struct SegmentShape {
    int ranks = 1;
    unsigned cores = 1;
    std::size_t ring_bytes = 0; // a power of two, a multiple of the page size
    std::size_t slice_bytes = 0;
    std::size_t heap_bytes = 0;
    bool profile = false;  // rank 0 names one, which it tells all when they have joined
    std::uint64_t key = 0; // 0: a random one
    Placement placement;
};

class Bridge;

class Segment {
public:
    // By the rank that founds the job.  Throws Error(memory) if there is no room, before use.
    static std::shared_ptr<Segment> create(const SegmentShape &shape);
    // By the others, from the two descriptors of the founder (both become this object's).
    // Ranks that are threads of one process share one object, unless there are other hosts: then
    // each has its mirror.
    static std::shared_ptr<Segment> attach(Descriptor fd, Descriptor heap_fd,
                                           const Placement &placement = {});
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;

    int ranks() const { return static_cast<int>(header_->ranks); } // of the job
    // Whether a rank shares this memory.
    bool here(int rank) const { return placement_.here(rank); }
    const Placement &placement() const { return placement_; }
    // To the ranks of other hosts; null if there are none.
    Bridge *bridge() const { return bridge_; }
    void set_bridge(Bridge *bridge) { bridge_ = bridge; }
    // What people are told of a call: the ranks of several hosts make some before their callers do.
    // Set before any other thread uses this.
    void number_from(std::uint64_t sequence) { first_call_ = sequence; }
    std::uint64_t number_of(std::uint64_t sequence) const {
        return sequence - std::min(first_call_, sequence);
    }
    // For messages: " (node7, 10.0.0.7)" of a rank of another host, else "".
    std::string place(int rank) const;
    int fd() const { return fd_.get(); }
    int heap_fd() const { return heap_fd_.get(); }
    SegmentHeader &header() const { return *header_; }
    LineBlock &lines(int rank) const { return lines_[rank]; }
    std::byte *cells(int rank) const {
        return rings_ + kRings * ring_bytes_ * static_cast<std::size_t>(rank);
    }
    std::byte *bulk(int rank) const { return cells(rank) + 2 * ring_bytes_; }
    std::size_t ring_bytes() const { return ring_bytes_; } // of each ring

    // Takes the memory for bytes of the cells in the mirror of a rank on another host, unless it
    // has been taken: page by page, as who hears of ranks in ever new orders, since they come late
    // by turns, uses little of each.  By one thread at a time.  Throws Error(memory).
    void open_mirror(int rank, std::size_t first, std::size_t bytes);
    // Maps the beginning of the rings of a rank of this host into this process now, if the kernel
    // can.  All other pages are when they are first touched: without this the first small calls
    // take up to twice as long.
    void populate(int rank);

    // Bit s of word s / 64: rank s has put something into its mailbox to `rank`.
    std::atomic<std::uint64_t> *news(int rank) const {
        return news_ + news_words_ * static_cast<std::size_t>(rank);
    }

    // Bit s of word s / 64: rank s is on the list of members that `rank` has made.
    std::atomic<std::uint64_t> *roll(int rank) const {
        return news(ranks()) + news_words_ * static_cast<std::size_t>(rank);
    }

    // The mailbox of a pair; all are mapped on the first use of one.
    std::byte *mailbox(int from, int to);
    // Takes the memory of a mailbox before the first write.  Throws Error(memory).
    void open_mailbox(int from, int to);

    // The heap window of a rank, mapped on first use, at the boundary of a huge page.
    std::byte *heap(int rank);

    // Marks `rank`, which is here, as alive until its process ends or leaves.
    void hold_life(int rank);
    // The rank takes part no more; whoever waits for it learns that.
    void leave(int rank) noexcept;
    bool alive(int rank) const;
    Presence presence(int rank) const;

    // Posts the first failure; later ones are dropped.  Wakes everybody.
    void fail(Status status, std::string_view message);
    bool failed() const { return header_->signals.failed.load(std::memory_order_acquire) != 0; }
    // What was posted.  Only after failed().
    Error failure() const;

private:
    static constexpr std::size_t kRings = 4; // of address space per rank: two, each mapped twice

    Segment(Descriptor fd, Descriptor heap_fd, const Placement &placement);
    void map(const SegmentHeader &shape);
    void map_ring(std::byte *first, int file, std::size_t offset);
    std::size_t rings_bytes() const; // of the ranks here
    std::size_t mail_offset(int from, int to) const;

    Descriptor fd_, heap_fd_, mirror_fd_;
    std::vector<std::vector<bool>> mirrored_; // pages that are taken, by place of the rank
    std::size_t page_ = 0, granted_ = 0;      // bytes of memory that there are to take
    Placement placement_;
    std::uint64_t first_call_ = 0;
    Bridge *bridge_ = nullptr;
    std::vector<Descriptor> duplicates_; // closing them would give up the locks of this process
    SegmentHeader *header_ = nullptr;
    LineBlock *lines_ = nullptr;
    std::atomic<std::uint64_t> *news_ = nullptr;
    std::size_t ranks_ = 0;
    std::byte *rings_ = nullptr;
    std::size_t ring_bytes_ = 0;
    std::size_t head_bytes_ = 0;
    std::size_t news_words_ = 0; // of each rank: a whole number of lines
    std::atomic<std::byte *> mail_{nullptr};
    std::unique_ptr<std::atomic<std::byte *>[]> heaps_;
};

} // namespace stretto::transport
