// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/mapping.hpp"

#include <cerrno>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupted.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "base/status.hpp"

namespace stretto::transport {

static constexpr std::uint64_t kMagic = 0x6f74746572747308; // "\6strett o" and the layout's version

static std::size_t page_up(std::size_t bytes) {
    return round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

static std::size_t words_of_bitmaps(std::size_t ranks) {
    return round_up(ranks, 8 * kLineBytes) / 64;
}

static std::size_t head_bytes(std::size_t ranks) {
    const std::size_t header = round_up(sizeof(SegmentHeader), kLineBytes);
    const std::size_t each =
        sizeof(LineBlock) + 2 * words_of_bitmaps(ranks) * sizeof(std::uint64_t);
    return page_up(header + each * ranks);
}

static std::size_t mail_bytes(std::size_t ranks) {
    return kMailboxBytes * ranks * ranks;
}

Descriptor anonymous_file(const char *name, std::size_t bytes) {
    // Beyond the limit of file sizes the kernel sends a signal that kills the process, so the limit
    // is checked first.
    struct rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur)
        throw Error(Status::memory, "shared memory of " + std::to_string(bytes) +
                                        " bytes exceeds this process's limit of file sizes, " +
                                        std::to_string(limit.rlim_cur) +
                                        "; raise it (ulimit -f), or lower STRETTO_HEAP_BYTES");
    // vm.memfd_noexec=2 allows only files that are never executable; kernels before 6.3 know no
    // such files.
#if !defined(MFD_NOEXEC_SEAL)
    constexpr unsigned MFD_NOEXEC_SEAL = 8; // older headers
#endif
    int number = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (number < 0 && errno == EINVAL)
        number = memfd_create(name, MFD_CLOEXEC);
    Descriptor file(number);
    if (!file.open())
        throw_errno("cannot create the shared segment (memfd_create; a sandbox must allow it)");
    if (uninterrupted([&] { return ftruncate(file.get(), static_cast<off_t>(bytes)); }) != 0)
        throw_errno("cannot size the shared segment to " + std::to_string(bytes) + " bytes");
    return file;
}

// The mappings of this process, by file identity.
using Registry = std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Mapping>>;
static auto &registry_mutex = *new ProcessLock; // threads may outlive main()
static auto &registry = *new Registry;

static std::weak_ptr<Mapping> &registered(int fd) {
    struct stat status{};
    if (fstat(fd, &status) != 0)
        throw_errno("cannot examine the shared segment");
    std::erase_if(registry, [](const auto &entry) { return entry.second.expired(); });
    return registry[{status.st_dev, status.st_ino}];
}

std::shared_ptr<Mapping> Mapping::create(const SegmentHeader &shape) {
    const std::size_t bytes = head_bytes(shape.ranks) + 2 * shape.ring_bytes * shape.here;
    const auto no_room = [&] {
        return Error(Status::memory,
                     "no room for the shared segment of " + std::to_string(bytes >> 20) +
                         " MiB; free memory, or make it smaller by STRETTO_RING_BYTES");
    };
    if (!has_room(bytes))
        throw no_room();
    Descriptor file = anonymous_file("stretto", bytes + mail_bytes(shape.ranks));
    Descriptor heap = anonymous_file("stretto-heap", shape.heap_bytes * shape.ranks);
    std::shared_ptr<Mapping> mapping(new Mapping(std::move(file), std::move(heap)));
    // Takes the room now: later, a lack of memory would be a SIGBUS in the middle of a collective.
    if (take_room(mapping->fd(), 0, bytes) != 0)
        throw no_room();
    mapping->map(shape);
    SegmentHeader &shared = mapping->header();
    shared.ranks = shape.ranks;
    shared.here = shape.here;
    shared.cores = shape.cores;
    shared.ring_bytes = shape.ring_bytes;
    shared.slice_bytes = shape.slice_bytes;
    shared.heap_bytes = shape.heap_bytes;
    shared.profile = shape.profile;
    shared.key = shape.key;
    shared.magic = kMagic;
    const std::lock_guard lock(registry_mutex);
    registered(mapping->fd()) = mapping;
    return mapping;
}

std::shared_ptr<Mapping> Mapping::attach(Descriptor fd, Descriptor heap_fd) {
    const std::lock_guard lock(registry_mutex);
    std::weak_ptr<Mapping> &known = registered(fd.get());
    if (auto mapping = known.lock()) {
        mapping->duplicates_.push_back(std::move(fd));
        mapping->duplicates_.push_back(std::move(heap_fd));
        return mapping;
    }
    std::shared_ptr<Mapping> mapping(new Mapping(std::move(fd), std::move(heap_fd)));
    void *view = mmap(nullptr, sizeof(SegmentHeader), PROT_READ, MAP_SHARED, mapping->fd(), 0);
    if (view == MAP_FAILED)
        throw_errno("cannot map the shared segment");
    const auto unmap = [](const SegmentHeader *header) {
        munmap(const_cast<SegmentHeader *>(header), sizeof(SegmentHeader));
    };
    const std::unique_ptr<const SegmentHeader, decltype(unmap)> header(
        static_cast<const SegmentHeader *>(view), unmap);
    if (header->magic != kMagic)
        throw Error(Status::mismatch,
                    "the ranks of this job run different versions of Stretto; install one version");
    mapping->map(*header);
    known = mapping;
    return mapping;
}

void Mapping::map(const SegmentHeader &shape) {
    ranks_ = shape.ranks;
    here_ = shape.here;
    ring_bytes_ = shape.ring_bytes;
    heap_bytes_ = shape.heap_bytes;
    heaps_ = std::make_unique<std::atomic<std::byte *>[]>(ranks_);
    lifeline_ = std::make_unique<Lifeline>(fd(), ranks_);

    void *head = mmap(nullptr, head_bytes(ranks_), PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
    if (head == MAP_FAILED)
        throw_errno("cannot map the shared segment");
    header_ = static_cast<SegmentHeader *>(head);
    const std::size_t header = round_up(sizeof(SegmentHeader), kLineBytes);
    lines_ = reinterpret_cast<LineBlock *>(static_cast<std::byte *>(head) + header);
    pending_ = reinterpret_cast<std::atomic<std::uint64_t> *>(lines_ + ranks_);
    bitmap_words_ = words_of_bitmaps(ranks_);

    rings_ = std::make_unique<Rings>(ring_bytes_, here_);
    for (std::size_t place = 0; place < here_; ++place) {
        const std::size_t first = head_bytes(ranks_) + 2 * ring_bytes_ * place;
        rings_->map(rings_->cells(place), fd(), first);
        rings_->map(rings_->bulk(place), fd(), first + ring_bytes_);
    }
}

Mapping::~Mapping() {
    unmap();
}

void Mapping::unmap() noexcept {
    // May be incomplete, if there was no room for the rest.
    for (std::size_t rank = 0; rank < ranks_ && heaps_ != nullptr; ++rank)
        if (std::byte *heap = heaps_[rank].load(); heap != nullptr)
            munmap(heap, heap_bytes_);
    if (std::byte *mail = mail_.load(); mail != nullptr)
        munmap(mail, mail_bytes(ranks_));
    if (header_ != nullptr)
        munmap(header_, head_bytes(ranks_));
    rings_.reset();
}

// Address space that begins at the boundary of a huge page; null if there is none.
static std::byte *reserve_at_huge_page(std::size_t bytes) {
    void *space = mmap(nullptr, bytes + kHugePageBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return nullptr;
    auto *first = static_cast<std::byte *>(space);
    const std::size_t lead = -reinterpret_cast<std::uintptr_t>(space) % kHugePageBytes;
    if (lead != 0)
        munmap(first, lead);
    munmap(first + lead + bytes, kHugePageBytes - lead);
    return first + lead;
}

std::byte *Mapping::heap(int rank) {
    std::atomic<std::byte *> &slot = heaps_[static_cast<std::size_t>(rank)];
    if (std::byte *known = slot.load(std::memory_order_acquire))
        return known;
    std::byte *place = reserve_at_huge_page(heap_bytes_);
    void *view = place == nullptr
                     ? MAP_FAILED
                     : mmap(place, heap_bytes_, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE | MAP_FIXED, heap_fd(),
                            static_cast<off_t>(heap_bytes_ * static_cast<std::size_t>(rank)));
    if (view == MAP_FAILED) {
        const int reason = errno;
        if (place != nullptr)
            munmap(place, heap_bytes_);
        errno = reason;
        throw_errno("cannot map the heap of rank " + std::to_string(rank) +
                    "; a smaller STRETTO_HEAP_BYTES may do");
    }
    std::byte *expected = nullptr;
    if (!slot.compare_exchange_strong(expected, static_cast<std::byte *>(view))) {
        munmap(view, heap_bytes_); // another thread was faster
        return expected;
    }
    return static_cast<std::byte *>(view);
}

// The offset of the mailboxes in the file.
std::size_t Mapping::mail_offset() const {
    return head_bytes(ranks_) + 2 * ring_bytes_ * here_;
}

// The offset of one mailbox among them.
std::size_t Mapping::offset_of(int from, int to) const {
    return kMailboxBytes * (static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to));
}

std::byte *Mapping::mailbox(int from, int to) {
    std::byte *mail = mail_.load(std::memory_order_acquire);
    if (mail == nullptr) {
        const std::size_t bytes = mail_bytes(ranks_);
        void *view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd(),
                          static_cast<off_t>(mail_offset()));
        if (view == MAP_FAILED)
            throw_errno("cannot map the mailboxes of the shared segment");
        if (mail_.compare_exchange_strong(mail, static_cast<std::byte *>(view)))
            mail = static_cast<std::byte *>(view);
        else
            munmap(view, bytes); // another thread was faster
    }
    return mail + offset_of(from, to);
}

void Mapping::open_mailbox(int from, int to) {
    if (!has_room(kMailboxBytes) ||
        take_room(fd(), mail_offset() + offset_of(from, to), kMailboxBytes) != 0)
        throw Error(Status::memory, "no memory for messages from rank " + std::to_string(from) +
                                        " to rank " + std::to_string(to) + " (" +
                                        std::to_string(kMailboxBytes >> 10) + " KiB); free memory");
}

} // namespace stretto::transport
