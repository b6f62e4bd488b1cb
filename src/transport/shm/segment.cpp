// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/segment.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "base/kernel_files.hpp"
#include "transport/remote/put_window.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/doorbell.hpp"
#include "transport/wait/naps.hpp"

namespace stretto::transport {

Segment::Segment(std::shared_ptr<Mapping> mapping, const Placement &placement)
    : mapping_(std::move(mapping)), placement_(placement), header_(&mapping_->header()),
      lines_(mapping_->lines()), pending_(mapping_->pending()),
      bitmap_words_(mapping_->bitmap_words()), ring_bytes_(header_->ring_bytes),
      ranks_per_core_((header_->ranks + std::max(header_->cores, 1u) - 1) /
                      std::max(header_->cores, 1u)) {
    if (!placement_.one_host())
        mirror_ = std::make_unique<Mirror>(
            ring_bytes_, static_cast<std::size_t>(ranks() - placement_.ranks_here(ranks())));
    for (int rank = 0; rank < ranks(); ++rank) {
        const Rings &rings = here(rank) ? mapping_->rings() : mirror_->rings();
        cells_.push_back(rings.cells(static_cast<std::size_t>(placement_.place(rank))));
    }
}

static SegmentConfig config_of(const SegmentShape &shape) {
    SegmentConfig config;
    config.ranks = static_cast<std::uint32_t>(shape.ranks);
    config.here = static_cast<std::uint32_t>(shape.placement.ranks_here(shape.ranks));
    config.cores = shape.cores;
    config.one_machine = shape.one_machine ? 1 : 0;
    config.ring_bytes = shape.ring_bytes;
    config.slice_bytes = shape.slice_bytes;
    config.heap_bytes = shape.heap_bytes;
    config.profile = shape.profile ? 1 : 0;
    config.key = shape.key;
    if (config.key == 0) {
        std::random_device random;
        config.key = (static_cast<std::uint64_t>(random()) << 32) | random();
    }
    return config;
}

std::shared_ptr<Segment> Segment::create(const SegmentShape &shape) {
    const SegmentConfig config = config_of(shape);
    auto segment = create_in(JobMemory::create(config.ranks, Mapping::bytes_of(config)), shape);
    segment->mapping_->take_rings();
    segment->header().ring_room.store(RingRoom::taken, std::memory_order_release);
    segment->mapping_->map_rings();
    return segment;
}

std::shared_ptr<Segment> Segment::create_in(std::shared_ptr<JobMemory> memory,
                                            const SegmentShape &shape) {
    const auto mapping = Mapping::create(std::move(memory), config_of(shape));
    if (!shape.placement.one_host()) {
        Signals &signals = mapping->header().signals;
        signals.sleepers.store(1, std::memory_order_relaxed); // ranks on other hosts
        // Few ranks publish here often enough for fences to cost more than the barrier's
        // interrupts.
        signals.fences.store(1, std::memory_order_relaxed);
    }
    return std::shared_ptr<Segment>(new Segment(mapping, shape.placement));
}

std::shared_ptr<Segment> Segment::attach(Descriptor file, const Placement &placement) {
    auto memory = JobMemory::attach(std::move(file));
    const std::size_t first = memory->first_range();
    auto segment = attach_in(std::move(memory), first, placement);
    segment->mapping_->map_rings();
    return segment;
}

std::shared_ptr<Segment> Segment::attach_in(std::shared_ptr<JobMemory> memory, std::size_t first,
                                            const Placement &placement) {
    auto mapping = Mapping::attach(std::move(memory), first);
    return mapping == nullptr
               ? nullptr
               : std::shared_ptr<Segment>(new Segment(std::move(mapping), placement));
}

void Segment::open_rings(int rank) {
    mapping_->map_rings();
    std::atomic<std::uint32_t> &state = header_->ring_room;
    const auto mine = RingRoom::takers + static_cast<std::uint32_t>(rank);
    for (Naps naps;; naps.next()) {
        std::uint32_t found = state.load(std::memory_order_acquire);
        if (found == RingRoom::taken)
            return;
        if (failed())
            throw failure();
        // A rank that has died may have left its work half done.
        const bool free = found == RingRoom::none ||
                          presence(static_cast<int>(found - RingRoom::takers)) != Presence::here;
        if (free && state.compare_exchange_strong(found, mine, std::memory_order_acq_rel))
            break;
    }
    try {
        mapping_->take_rings();
    } catch (...) {
        state.store(RingRoom::none, std::memory_order_release); // the next rank tries for itself
        throw;
    }
    state.store(RingRoom::taken, std::memory_order_release);
}

void Segment::open_mirror(int rank, std::size_t first, std::size_t bytes) {
    if (!mirror_->open(static_cast<std::size_t>(placement_.place(rank)), first, bytes))
        throw Error(Status::memory, "no memory for data from " + names_.of(rank) +
                                        "; free memory, or lower STRETTO_RING_BYTES");
}

// The second view of the cells and the first of the bulk ring are neighbours (rings.hpp).
PutWindow Segment::open_window(int rank) {
    if (here(rank))
        open_rings(rank);
    else if (!mirror_->open_whole(static_cast<std::size_t>(placement_.place(rank))))
        throw Error(Status::memory, "no memory for what " + names_.of(rank) +
                                        " writes; free memory, or lower STRETTO_RING_BYTES");
    return {cells(rank) + ring_bytes_, ring_bytes_};
}

// Those of which all memory is taken.
template<class Body>
void Segment::for_whole_rings(Body &&body) const {
    for (int rank = 0; rank < ranks(); ++rank)
        if (here(rank) || mirror_->is_whole(static_cast<std::size_t>(placement_.place(rank))))
            for (std::byte *const ring : {cells(rank), bulk(rank)})
                body(ring);
}

void Segment::add_memory_user(MemoryUser &user) {
    std::size_t told = 0;
    try {
        for_whole_rings([&](std::byte *ring) {
            user.use_memory(ring, Rings::kViews * ring_bytes_);
            ++told;
        });
        if (remote_peers_ != nullptr)
            remote_peers_->add_memory_user(user);
    } catch (...) {
        for_whole_rings([&](std::byte *ring) {
            if (told != 0) {
                user.release_memory(ring);
                --told;
            }
        });
        throw;
    }
}

void Segment::remove_memory_user(MemoryUser &user) noexcept {
    for_whole_rings([&](std::byte *ring) { user.release_memory(ring); });
    if (remote_peers_ != nullptr)
        remote_peers_->remove_memory_user(user);
}

void Segment::populate(int rank) {
    // MADV_POPULATE_WRITE of Linux 5.14, which older headers do not name.
    constexpr int kPopulateWriteAdvice = 23;
#ifdef MADV_POPULATE_WRITE
    static_assert(kPopulateWriteAdvice == MADV_POPULATE_WRITE);
#endif
    const std::size_t most = std::min<std::size_t>(ring_bytes_, 1u << 20);
    for (std::byte *const ring : {cells(rank), bulk(rank)})
        (void)madvise(ring, most, kPopulateWriteAdvice);
}

void Segment::open_mailbox(int from, int to) {
    mapping_->open_mailbox(from, to);
    if (remote_peers_ != nullptr && here(from) && !here(to))
        remote_peers_->open_mailbox(to);
}

void Segment::hold_life(int rank) {
    mapping_->lifeline().hold(rank);
    LineBlock &line = lines(rank);
    line.pid_namespace.store(pid_namespace(), std::memory_order_relaxed);
    line.pid.store(getpid(), std::memory_order_release);
}

void Segment::hold_life_as(int rank, const LineBlock &known) {
    mapping_->lifeline().hold(rank);
    LineBlock &line = lines(rank);
    line.attach.store(known.attach.load(std::memory_order_relaxed), std::memory_order_relaxed);
    line.xpmem.store(known.xpmem.load(std::memory_order_relaxed), std::memory_order_relaxed);
    line.in_place.store(known.in_place.load(std::memory_order_relaxed), std::memory_order_relaxed);
    line.pid_namespace.store(known.pid_namespace.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    line.pid.store(known.pid.load(std::memory_order_relaxed), std::memory_order_release);
}

void Segment::leave(int rank) noexcept {
    lines(rank).left.store(1, std::memory_order_release);
}

bool Segment::alive(int rank) const {
    return mapping_->lifeline().held(rank);
}

int Segment::process(int rank) const {
    const LineBlock &line = lines_[rank];
    const int pid = line.pid.load(std::memory_order_acquire);
    const auto where = line.pid_namespace.load(std::memory_order_relaxed);
    return here(rank) && where != 0 && where == pid_namespace() ? pid : 0;
}

Presence Segment::presence(int rank) const {
    if (lines_[rank].left.load(std::memory_order_acquire) != 0)
        return Presence::left;
    if (!here(rank))
        return lines_[rank].lost.load(std::memory_order_acquire) != 0 ? Presence::dead
                                                                      : Presence::here;
    return alive(rank) ? Presence::here : Presence::dead;
}

std::string Segment::place(int rank) const {
    return here(rank) || remote_peers_ == nullptr ? "" : " (" + remote_peers_->place(rank) + ")";
}

const char *words(Presence presence) {
    switch (presence) {
    case Presence::here: return "is there";
    case Presence::left: return "has left the communicator";
    case Presence::dead: return "has died";
    }
    return "";
}

void Segment::fail(Status status, std::string_view message) {
    FailureRecord &board = header_->board;
    std::atomic<std::uint32_t> &failed = header_->signals.failed;
    std::uint32_t whole = 0;
    if (!failed.compare_exchange_strong(whole, 1, std::memory_order_acq_rel))
        return;
    board.status.store(static_cast<std::uint32_t>(status), std::memory_order_relaxed);
    const std::size_t length = std::min(message.size(), sizeof(board.message) - 1);
    std::memcpy(board.message, message.data(), length);
    board.message[length] = '\0';
    failed.store(2, std::memory_order_seq_cst); // before the look for sleepers
    for (int rank = 0; rank < ranks(); ++rank)
        if (here(rank))
            Doorbell(*this, rank).ring();
    if (remote_peers_ != nullptr)
        remote_peers_->failed();
}

Error Segment::failure() const {
    const FailureRecord &board = header_->board;
    const std::atomic<std::uint32_t> &failed = header_->signals.failed;
    // The posting rank goes from 1 to 2 within microseconds; if it dies in between, the message is
    // lost.
    for (int tries = 0; failed.load(std::memory_order_acquire) == 1 && tries < 1000; ++tries)
        usleep(100);
    if (failed.load(std::memory_order_acquire) != 2)
        return Error(Status::peer, "a rank died while it reported a failure");
    return Error(static_cast<Status>(board.status.load(std::memory_order_relaxed)), board.message);
}

} // namespace stretto::transport
