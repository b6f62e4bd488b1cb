// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/segment.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "base/kernel_files.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/doorbell.hpp"

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

std::shared_ptr<Segment> Segment::create(const SegmentShape &shape) {
    SegmentHeader header{};
    header.ranks = static_cast<std::uint32_t>(shape.ranks);
    header.here = static_cast<std::uint32_t>(shape.placement.ranks_here(shape.ranks));
    header.cores = shape.cores;
    header.ring_bytes = shape.ring_bytes;
    header.slice_bytes = shape.slice_bytes;
    header.heap_bytes = shape.heap_bytes;
    header.profile = shape.profile ? 1 : 0;
    header.key = shape.key;
    if (header.key == 0) {
        std::random_device random;
        header.key = (static_cast<std::uint64_t>(random()) << 32) | random();
    }
    const auto mapping = Mapping::create(header);
    if (!shape.placement.one_host()) {
        Signals &signals = mapping->header().signals;
        signals.sleepers.store(1, std::memory_order_relaxed); // ranks on other hosts
        // Few ranks publish here often enough for fences to cost more than the barrier's
        // interrupts.
        signals.fences.store(1, std::memory_order_relaxed);
    }
    return std::shared_ptr<Segment>(new Segment(mapping, shape.placement));
}

std::shared_ptr<Segment> Segment::attach(Descriptor fd, Descriptor heap_fd,
                                         const Placement &placement) {
    return std::shared_ptr<Segment>(
        new Segment(Mapping::attach(std::move(fd), std::move(heap_fd)), placement));
}

void Segment::open_mirror(int rank, std::size_t first, std::size_t bytes) {
    if (!mirror_->open(static_cast<std::size_t>(placement_.place(rank)), first, bytes))
        throw Error(Status::memory, "no memory for data from " + names_.of(rank) +
                                        "; free memory, or lower STRETTO_RING_BYTES");
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

void Segment::leave(int rank) noexcept {
    lines(rank).left.store(1, std::memory_order_release);
    mapping_->lifeline().release(rank);
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
