// SPDX-License-Identifier: BSD-3-Clause
#include "transport/segment.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.hpp"
#include "transport/bridge.hpp"
#include "transport/doorbell.hpp"

namespace stretto::transport {

static constexpr std::size_t kMirrorPiece = 256u << 10;     // of a ring
static constexpr std::uint64_t kMagic = 0x6f74746572747305; // "\5strett o" and the layout's version

static std::size_t page_up(std::size_t bytes) {
    return round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

static std::size_t words_of_news(int ranks) {
    return round_up(static_cast<std::size_t>(ranks), 8 * kLine) / 64;
}

static std::size_t head_bytes(int ranks) {
    const std::size_t header = round_up(sizeof(SegmentHeader), kLine);
    const std::size_t each = sizeof(LineBlock) + 2 * words_of_news(ranks) * sizeof(std::uint64_t);
    return page_up(header + each * static_cast<std::size_t>(ranks));
}

static std::size_t mail_bytes(int ranks) {
    return kMailboxBytes * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
}

static Descriptor anonymous_file(const char *name, std::size_t bytes) {
    // Beyond the limit of file sizes the kernel does not refuse: it sends a signal that kills.
    struct rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur)
        throw Error(Status::memory, "shared memory of " + std::to_string(bytes) +
                                        " bytes exceeds this process's limit of file sizes, " +
                                        std::to_string(limit.rlim_cur) +
                                        "; raise it (ulimit -f), or lower STRETTO_HEAP_BYTES");
    Descriptor file(memfd_create(name, MFD_CLOEXEC));
    if (!file.open())
        throw_errno("cannot create the shared segment (memfd_create)");
    if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
        throw_errno("cannot size the shared segment to " + std::to_string(bytes) + " bytes");
    return file;
}

// Ranks that are threads of one process must see one mapping: it is found again by file identity.
static std::mutex registry_mutex;
static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Segment>> registry;

static std::pair<dev_t, ino_t> identity(int fd) {
    struct stat status{};
    if (fstat(fd, &status) != 0)
        throw_errno("cannot examine the shared segment");
    return {status.st_dev, status.st_ino};
}

Segment::Segment(Descriptor fd, Descriptor heap_fd, const Placement &placement)
    : fd_(std::move(fd)), heap_fd_(std::move(heap_fd)), placement_(placement) {}

std::shared_ptr<Segment> Segment::create(const SegmentShape &shape) {
    const std::size_t head = head_bytes(shape.ranks);
    const auto here = static_cast<std::size_t>(shape.placement.ranks_here(shape.ranks));
    const std::size_t bytes = head + 2 * shape.ring_bytes * here;
    const auto no_room = [&] {
        return Error(Status::memory,
                     "no room for the shared segment of " + std::to_string(bytes >> 20) +
                         " MiB; free memory, or make it smaller by STRETTO_RING_BYTES");
    };
    if (bytes > available_memory())
        throw no_room();
    Descriptor file = anonymous_file("stretto", bytes + mail_bytes(shape.ranks));
    Descriptor heap =
        anonymous_file("stretto-heap", shape.heap_bytes * static_cast<std::size_t>(shape.ranks));
    std::shared_ptr<Segment> segment(
        new Segment(std::move(file), std::move(heap), shape.placement));
    // Room is taken now: later a full memory would be a SIGBUS in the middle of a collective.
    if (posix_fallocate(segment->fd(), 0, static_cast<off_t>(bytes)) != 0)
        throw no_room();
    SegmentHeader header{};
    header.magic = kMagic;
    header.ranks = static_cast<std::uint32_t>(shape.ranks);
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
    segment->map(header);
    SegmentHeader &shared = *segment->header_;
    shared.ranks = header.ranks;
    shared.cores = header.cores;
    shared.ring_bytes = header.ring_bytes;
    shared.slice_bytes = header.slice_bytes;
    shared.heap_bytes = header.heap_bytes;
    shared.profile = header.profile;
    shared.key = header.key;
    shared.magic = header.magic;
    if (!shape.placement.one_host()) {
        shared.signals.sleepers.store(1, std::memory_order_relaxed); // ranks that are far
        // Few publish so often here that a fence costs more than the barrier's interrupts.
        shared.signals.fences.store(1, std::memory_order_relaxed);
        return segment;
    }
    const std::lock_guard lock(registry_mutex);
    std::erase_if(registry, [](const auto &entry) { return entry.second.expired(); });
    registry[identity(segment->fd())] = segment;
    return segment;
}

std::shared_ptr<Segment> Segment::attach(Descriptor fd, Descriptor heap_fd,
                                         const Placement &placement) {
    const std::lock_guard lock(registry_mutex);
    std::erase_if(registry, [](const auto &entry) { return entry.second.expired(); });
    std::weak_ptr<Segment> alone;
    std::weak_ptr<Segment> &known = placement.one_host() ? registry[identity(fd.get())] : alone;
    if (auto segment = known.lock()) {
        segment->duplicates_.push_back(std::move(fd));
        segment->duplicates_.push_back(std::move(heap_fd));
        return segment;
    }
    std::shared_ptr<Segment> segment(new Segment(std::move(fd), std::move(heap_fd), placement));
    const std::size_t bytes = sizeof(SegmentHeader);
    void *view = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, segment->fd(), 0);
    if (view == MAP_FAILED)
        throw_errno("cannot map the shared segment");
    const auto *header = static_cast<const SegmentHeader *>(view);
    if (header->magic != kMagic) {
        munmap(view, bytes);
        throw Error(Status::mismatch,
                    "the ranks of this job run different versions of Stretto; install one version");
    }
    try {
        segment->map(*header);
    } catch (...) {
        munmap(view, bytes);
        throw;
    }
    munmap(view, bytes);
    known = segment;
    return segment;
}

void Segment::map(const SegmentHeader &shape) {
    const int ranks = static_cast<int>(shape.ranks);
    ring_bytes_ = shape.ring_bytes;
    head_bytes_ = head_bytes(ranks);
    heaps_ = std::make_unique<std::atomic<std::byte *>[]>(shape.ranks);
    ranks_ = shape.ranks;

    void *head = mmap(nullptr, head_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
    if (head == MAP_FAILED)
        throw_errno("cannot map the shared segment");
    header_ = static_cast<SegmentHeader *>(head);
    const std::size_t header = round_up(sizeof(SegmentHeader), kLine);
    lines_ = reinterpret_cast<LineBlock *>(static_cast<std::byte *>(head) + header);
    news_ = reinterpret_cast<std::atomic<std::uint64_t> *>(lines_ + ranks);
    news_words_ = words_of_news(ranks);

    const std::size_t span = kRings * ring_bytes_ * shape.ranks;
    void *rings =
        mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rings == MAP_FAILED)
        throw_errno("cannot reserve address space for the rings");
    rings_ = static_cast<std::byte *>(rings);
    if (!placement_.one_host()) {
        const auto elsewhere = static_cast<std::size_t>(ranks - placement_.ranks_here(ranks));
        mirror_fd_ = anonymous_file("stretto-mirror", ring_bytes_ * elsewhere);
        mirrored_.resize(elsewhere);
        page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    }
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t place = ring_bytes_ * static_cast<std::size_t>(placement_.place(rank));
        if (here(rank)) {
            map_ring(cells(rank), fd(), head_bytes_ + 2 * place);
            map_ring(bulk(rank), fd(), head_bytes_ + 2 * place + ring_bytes_);
        } else {
            map_ring(cells(rank), mirror_fd_.get(), place);
        }
    }
}

void Segment::map_ring(std::byte *first, int file, std::size_t offset) {
    for (std::byte *const at : {first, first + ring_bytes_})
        if (mmap(at, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                 static_cast<off_t>(offset)) == MAP_FAILED)
            throw_errno("cannot map a ring of the shared segment");
}

std::size_t Segment::rings_bytes() const {
    return 2 * ring_bytes_ * static_cast<std::size_t>(placement_.ranks_here(ranks()));
}

Segment::~Segment() {
    // Perhaps half made, if there was no room for the rest.
    if (header_ != nullptr)
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            if (std::byte *heap = heaps_[rank].load(); heap != nullptr)
                munmap(heap, header_->heap_bytes);
    if (std::byte *mail = mail_.load(); mail != nullptr)
        munmap(mail, mail_bytes(ranks()));
    if (rings_ != nullptr)
        munmap(rings_, kRings * ring_bytes_ * ranks_);
    if (header_ != nullptr)
        munmap(header_, head_bytes_);
}

// Address space that begins at the boundary of a huge page; null if there is none.
static std::byte *reserve_at_huge_page(std::size_t bytes) {
    void *space = mmap(nullptr, bytes + kHugePage, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return nullptr;
    auto *first = static_cast<std::byte *>(space);
    const std::size_t lead = -reinterpret_cast<std::uintptr_t>(space) % kHugePage;
    if (lead != 0)
        munmap(first, lead);
    munmap(first + lead + bytes, kHugePage - lead);
    return first + lead;
}

std::byte *Segment::heap(int rank) {
    std::atomic<std::byte *> &slot = heaps_[static_cast<std::size_t>(rank)];
    if (std::byte *known = slot.load(std::memory_order_acquire))
        return known;
    const std::size_t bytes = header_->heap_bytes;
    std::byte *place = reserve_at_huge_page(bytes);
    void *view =
        place == nullptr
            ? MAP_FAILED
            : mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                   heap_fd(), static_cast<off_t>(bytes * static_cast<std::size_t>(rank)));
    if (view == MAP_FAILED) {
        const int reason = errno;
        if (place != nullptr)
            munmap(place, bytes);
        errno = reason;
        throw_errno("cannot map the heap of rank " + std::to_string(rank) +
                    "; a smaller STRETTO_HEAP_BYTES may do");
    }
    std::byte *expected = nullptr;
    if (!slot.compare_exchange_strong(expected, static_cast<std::byte *>(view))) {
        munmap(view, bytes); // another thread was faster
        return expected;
    }
    return static_cast<std::byte *>(view);
}

std::size_t Segment::mail_offset(int from, int to) const {
    return kMailboxBytes *
           (static_cast<std::size_t>(from) * header_->ranks + static_cast<std::size_t>(to));
}

std::byte *Segment::mailbox(int from, int to) {
    std::byte *mail = mail_.load(std::memory_order_acquire);
    if (mail == nullptr) {
        const std::size_t first = head_bytes_ + rings_bytes();
        const std::size_t bytes = mail_bytes(ranks());
        void *view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd(),
                          static_cast<off_t>(first));
        if (view == MAP_FAILED)
            throw_errno("cannot map the mailboxes of the shared segment");
        if (mail_.compare_exchange_strong(mail, static_cast<std::byte *>(view)))
            mail = static_cast<std::byte *>(view);
        else
            munmap(view, bytes); // another thread was faster
    }
    return mail + mail_offset(from, to);
}

void Segment::open_mailbox(int from, int to) {
    const std::size_t first = head_bytes_ + rings_bytes();
    if (kMailboxBytes > available_memory() ||
        posix_fallocate(fd(), static_cast<off_t>(first + mail_offset(from, to)),
                        static_cast<off_t>(kMailboxBytes)) != 0)
        throw Error(Status::memory, "no memory for messages from rank " + std::to_string(from) +
                                        " to rank " + std::to_string(to) + " (" +
                                        std::to_string(kMailboxBytes >> 10) + " KiB); free memory");
    if (bridge_ != nullptr && here(from) && !here(to))
        bridge_->open_mailbox(to);
}

// A record lock on byte `rank` of the segment belongs to the process and goes with it, whatever
// ends it; a child made by fork does not inherit it.
static struct flock life(int rank, short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return lock;
}

void Segment::hold_life(int rank) {
    struct flock lock = life(rank, F_WRLCK);
    if (fcntl(fd(), F_SETLK, &lock) != 0)
        throw_errno("cannot lock the shared segment");
    lines(rank).pid.store(getpid(), std::memory_order_release);
}

void Segment::leave(int rank) noexcept {
    lines(rank).left.store(1, std::memory_order_release);
    struct flock lock = life(rank, F_UNLCK);
    (void)fcntl(fd(), F_SETLK, &lock); // at the latest it goes with the process
}

bool Segment::alive(int rank) const {
    if (lines_[rank].pid.load(std::memory_order_acquire) == getpid())
        return true; // a thread of this process: its locks look like ours
    struct flock lock = life(rank, F_WRLCK);
    return fcntl(fd(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
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
    return here(rank) || bridge_ == nullptr ? "" : " (" + bridge_->place(rank) + ")";
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
    Board &board = header_->board;
    std::atomic<std::uint32_t> &failed = header_->signals.failed;
    std::uint32_t whole = 0;
    if (!failed.compare_exchange_strong(whole, 1, std::memory_order_acq_rel))
        return;
    board.status.store(static_cast<std::uint32_t>(status), std::memory_order_relaxed);
    const std::size_t length = std::min(message.size(), sizeof(board.message) - 1);
    std::memcpy(board.message, message.data(), length);
    board.message[length] = '\0';
    failed.store(2, std::memory_order_seq_cst); // before we look who sleeps
    for (int rank = 0; rank < ranks(); ++rank)
        if (here(rank))
            Doorbell(*this, rank).ring();
    if (bridge_ != nullptr)
        bridge_->failed();
}

Error Segment::failure() const {
    const Board &board = header_->board;
    const std::atomic<std::uint32_t> &failed = header_->signals.failed;
    // The poster needs microseconds between 1 and 2; should it die there, the message is lost.
    for (int tries = 0; failed.load(std::memory_order_acquire) == 1 && tries < 1000; ++tries)
        usleep(100);
    if (failed.load(std::memory_order_acquire) != 2)
        return Error(Status::peer, "a rank died while it reported a failure");
    return Error(static_cast<Status>(board.status.load(std::memory_order_relaxed)), board.message);
}

} // namespace stretto::transport
