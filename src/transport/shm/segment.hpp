// SPDX-License-Identifier: BSD-3-Clause
// One rank's view of the memory that it shares with the other ranks of a communicator.  The memory
// of its own host is mapped once in a process (mapping.hpp).  For ranks on other hosts, each rank
// has a mirror of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/status.hpp"
#include "transport/memory_user.hpp"
#include "transport/remote/mirror.hpp"
#include "transport/shm/cell.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/mapping.hpp"
#include "transport/shm/placement.hpp"
#include "transport/shm/rank_names.hpp"
#include "transport/shm/wait_state.hpp"
#include "transport/wait/look_pacing.hpp"

namespace stretto::transport {

// Whether a rank still takes part in calls.
enum class Presence { here, left, dead };
const char *words(Presence presence); // "has died"

struct SegmentShape {
    int ranks = 1;
    unsigned cores = 1;         // SegmentHeader::cores
    bool one_machine = false;   // SegmentHeader::one_machine
    std::size_t ring_bytes = 0; // a power of two, a multiple of the page size
    std::size_t slice_bytes = 0;
    std::size_t heap_bytes = 0;
    bool profile = false;  // rank 0 names a tuning file, whose contents it sends to all ranks when
                           // they have joined
    std::uint64_t key = 0; // 0: a random one
    Placement placement;
};

class RemotePeers;
struct PutWindow;

class Segment {
public:
    // The segment of a job, with memory of its own.  Called by the founder, the rank that creates
    // the memory.  Throws Error(memory) if there is no room, before anything uses it.
    static std::shared_ptr<Segment> create(const SegmentShape &shape);
    // Called by the other ranks, with the descriptor of the founder; this object owns it from then
    // on.
    static std::shared_ptr<Segment> attach(Descriptor file, const Placement &placement = {});
    // The same for a communicator that is made of another.  Nothing is touched for its rings before
    // open_rings().  Null if the segment is there no more.
    static std::shared_ptr<Segment> create_in(std::shared_ptr<JobMemory> memory,
                                              const SegmentShape &shape);
    static std::shared_ptr<Segment> attach_in(std::shared_ptr<JobMemory> memory, std::size_t first,
                                              const Placement &placement);
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;

    int ranks() const { return static_cast<int>(header_->ranks); } // of the job
    // Whether a rank shares this memory.
    bool here(int rank) const { return placement_.here(rank); }
    const Placement &placement() const { return placement_; }
    // Ranks for each core of a host, rounded up.
    unsigned ranks_per_core() const { return ranks_per_core_; }
    // This host's part of SegmentHeader::cores, rounded up.
    unsigned cores_here() const {
        return std::max(1u, (header_->cores * header_->here + header_->ranks - 1) / header_->ranks);
    }
    // Of this rank's waiters.
    LookPacing &look_pacing() { return look_pacing_; }
    // The way to the ranks of other hosts; null if there are none.
    RemotePeers *remote_peers() const { return remote_peers_; }
    void set_remote_peers(RemotePeers *remote_peers) { remote_peers_ = remote_peers; }
    // The number of the first call of the program.  The ranks of several hosts make some calls
    // before it, and messages do not count those.  Set before any other thread uses this object.
    void number_from(std::uint64_t sequence) { first_call_ = sequence; }
    std::uint64_t number_of(std::uint64_t sequence) const {
        return sequence - std::min(first_call_, sequence);
    }
    // For messages.  Set before any other thread uses this object.
    void set_names(RankNames names) { names_ = std::move(names); }
    const RankNames &names() const { return names_; }
    // For messages: " (node7, 10.0.0.7)" of a rank of another host, else "".
    std::string place(int rank) const;
    const std::shared_ptr<JobMemory> &memory() const { return mapping_->memory(); }
    std::size_t first_byte() const { return mapping_->first(); } // of that memory
    SegmentHeader &header() const { return *header_; }
    LineBlock &lines(int rank) const { return lines_[rank]; }
    std::byte *cells(int rank) const { return cells_[static_cast<std::size_t>(rank)]; }
    std::byte *bulk(int rank) const { return Rings::bulk(cells(rank), ring_bytes_); }
    std::size_t ring_bytes() const { return ring_bytes_; } // of each ring

    // Called by `rank` before it touches a ring of any rank.  The first rank takes the memory of
    // all rings here.  Throws Error(memory) if there is none; the other ranks then try for
    // themselves.
    void open_rings(int rank);
    // Takes the memory for bytes of the cells of a rank on another host, as Mirror::open does.
    // Throws Error(memory).
    void open_mirror(int rank, std::size_t first, std::size_t bytes);
    // Both rings of a rank in one piece, with all of their memory taken: this rank's own, from
    // which devices read, or those into which a rank on another host may write by itself.  Throws
    // Error(memory).
    PutWindow open_window(int rank);
    // Until it is removed, `user` hears of the memory in which payloads lie: the rings of ranks
    // that are here, which are open, and the memory of payloads from other hosts, but for short
    // ones. Throws std::bad_alloc.
    void add_memory_user(MemoryUser &user);
    void remove_memory_user(MemoryUser &user) noexcept;
    // Maps the beginning of a local rank's rings into this process now, if the kernel can.  Other
    // pages are mapped when they are first touched.  Without this the first small calls take up to
    // twice as long.
    void populate(int rank);

    // Bit s of word s / 64: rank s has put something into its mailbox to `rank`.
    std::atomic<std::uint64_t> *pending(int rank) const {
        return pending_ + bitmap_words_ * static_cast<std::size_t>(rank);
    }

    // Bit s of word s / 64: rank s is on the list of members that `rank` has made.
    std::atomic<std::uint64_t> *shrink_members(int rank) const {
        return pending(ranks()) + bitmap_words_ * static_cast<std::size_t>(rank);
    }

    // As in Mapping.
    std::byte *mailbox(int from, int to) { return mapping_->mailbox(from, to); }
    void open_mailbox(int from, int to);
    // What ranks share of devices, by rank; only of those here.  Throws Error(memory).
    SharedDevice *open_shared_devices() { return mapping_->open_shared_devices(); }
    void take_heap(int rank) { mapping_->take_heap(rank); }
    std::size_t heap_first(int rank) const { return mapping_->heap_first(rank); }
    std::byte *heap(int rank) { return mapping_->heap(rank); }

    // In a forked child, which shares this memory as well: unmaps it.
    void unmap_in_child() noexcept {
        if (mapping_.use_count() != 1)
            return;
        mapping_->unmap();
        mapping_->memory()->unmapped_in_child();
    }

    // Marks `rank`, which is here, as alive until its process ends or leaves.
    void hold_life(int rank);
    // The same for a rank whose process is known from its lines in another communicator.
    void hold_life_as(int rank, const LineBlock &known);
    // This rank leaves; ranks that wait for it learn that.
    void leave(int rank) noexcept;
    bool alive(int rank) const;
    // The process number of a rank, or 0 if it has none or is in another PID namespace.
    int process(int rank) const;
    Presence presence(int rank) const;
    // A word in this process's own memory, for peer_memory.hpp.
    std::uint64_t &own_word() { return own_word_; }

    // Posts the first failure and wakes all ranks; later failures are dropped.
    void fail(Status status, std::string_view message);
    bool failed() const { return header_->signals.failed.load(std::memory_order_acquire) != 0; }
    // The posted failure.  Only after failed().
    Error failure() const;

private:
    Segment(std::shared_ptr<Mapping> mapping, const Placement &placement);
    template<class Body>
    void for_whole_rings(Body &&body) const;

    const std::shared_ptr<Mapping> mapping_;
    const Placement placement_;
    std::unique_ptr<Mirror> mirror_; // null if all ranks are here
    std::uint64_t first_call_ = 0;
    RankNames names_;
    RemotePeers *remote_peers_ = nullptr;
    // Addresses of parts that are read often.
    SegmentHeader *const header_;
    LineBlock *const lines_;
    std::atomic<std::uint64_t> *const pending_;
    const std::size_t bitmap_words_; // of each rank: a whole number of lines
    const std::size_t ring_bytes_;
    const unsigned ranks_per_core_;
    LookPacing look_pacing_;
    std::vector<std::byte *> cells_; // by rank
    std::uint64_t own_word_ = 0;
};

} // namespace stretto::transport
