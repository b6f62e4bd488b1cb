// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/mapping.hpp"

#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "base/interrupted.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "base/status.hpp"

namespace stretto::transport {

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

static std::size_t device_bytes(std::size_t ranks) {
    return page_up(sizeof(SharedDevice) * ranks);
}

// Where the parts of a segment begin in its range, and where it ends.
struct Mapping::Parts {
    explicit Parts(const SegmentConfig &config)
        : rings(head_bytes(config.ranks)), mail(rings + 2 * config.ring_bytes * config.here),
          devices(mail + mail_bytes(config.ranks)), end(devices + device_bytes(config.ranks)) {}
    std::size_t rings, mail, devices, end;
};

// The mappings of this process, by job and first byte.
using Registry = std::map<std::pair<const JobMemory *, std::size_t>, std::weak_ptr<Mapping>>;
static auto &registry_mutex = *new ProcessLock; // threads may outlive main()
static auto &registry = *new Registry;

static std::weak_ptr<Mapping> &registered(const JobMemory &memory, std::size_t first) {
    std::erase_if(registry, [](const auto &entry) { return entry.second.expired(); });
    return registry[{&memory, first}];
}

std::size_t Mapping::bytes_of(const SegmentConfig &config) {
    return Parts(config).end;
}

Mapping::Mapping(std::shared_ptr<JobMemory> memory, std::size_t first)
    : memory_(std::move(memory)), first_(first) {
    memory_->mapped();
}

std::shared_ptr<Mapping> Mapping::create(std::shared_ptr<JobMemory> memory,
                                         const SegmentConfig &config) {
    const std::size_t first = memory->take_range(bytes_of(config));
    std::shared_ptr<Mapping> mapping(new Mapping(std::move(memory), first));
    if (take_room(mapping->memory_->fd(), first, head_bytes(config.ranks)) != 0)
        throw mapping->no_room(head_bytes(config.ranks));
    mapping->map(config);
    static_cast<SegmentConfig &>(mapping->header()) = config;
    const std::lock_guard lock(registry_mutex);
    registered(*mapping->memory_, first) = mapping;
    return mapping;
}

std::shared_ptr<Mapping> Mapping::attach(std::shared_ptr<JobMemory> memory, std::size_t first) {
    const std::lock_guard lock(registry_mutex);
    std::weak_ptr<Mapping> &known = registered(*memory, first);
    if (auto mapping = known.lock())
        return mapping;
    SegmentConfig config;
    if (pread(memory->fd(), &config, sizeof(config), static_cast<off_t>(first)) != sizeof(config))
        throw_errno("cannot read the shared segment");
    if (config.ranks == 0)
        return nullptr;
    std::shared_ptr<Mapping> mapping(new Mapping(std::move(memory), first));
    mapping->map(config);
    known = mapping;
    return mapping;
}

void Mapping::map(const SegmentConfig &config) {
    ranks_ = config.ranks;
    here_ = config.here;
    ring_bytes_ = config.ring_bytes;
    heap_bytes_ = config.heap_bytes;
    parts_ = std::make_unique<const Parts>(config);
    heaps_ = std::make_unique<std::atomic<std::byte *>[]>(ranks_);
    lifeline_ = std::make_unique<Lifeline>(memory_->fd(), memory_->own_fd(), first_, ranks_);

    void *head = mmap(nullptr, head_bytes(ranks_), PROT_READ | PROT_WRITE, MAP_SHARED,
                      memory_->fd(), static_cast<off_t>(first_));
    if (head == MAP_FAILED)
        throw_errno("cannot map the shared segment");
    header_ = static_cast<SegmentHeader *>(head);
    const std::size_t header = round_up(sizeof(SegmentHeader), kLineBytes);
    lines_ = reinterpret_cast<LineBlock *>(static_cast<std::byte *>(head) + header);
    pending_ = reinterpret_cast<std::atomic<std::uint64_t> *>(lines_ + ranks_);
    bitmap_words_ = words_of_bitmaps(ranks_);
    rings_ = std::make_unique<Rings>(ring_bytes_, here_);
}

void Mapping::map_rings() {
    const std::lock_guard lock(rings_mutex_);
    if (!rings_mapped_)
        rings_->map_pairs(memory_->fd(), first_ + parts_->rings);
    rings_mapped_ = true;
}

void Mapping::take_rings() {
    const std::size_t bytes = parts_->mail - parts_->rings;
    if (!has_room(bytes) || take_room(memory_->fd(), first_ + parts_->rings, bytes) != 0)
        throw no_room(bytes);
}

Error Mapping::no_room(std::size_t bytes) const {
    return {Status::memory, "no room for the shared segment of " + std::to_string(bytes >> 20) +
                                " MiB; free memory, or make it smaller by STRETTO_RING_BYTES"};
}

// If a rank has not joined, it may still come and map the range, and finds in the head that the
// segment has failed: so the pages of the head remain until the job ends.
Mapping::~Mapping() {
    const bool complete = header_ != nullptr && all_joined();
    const bool has_rings = header_ != nullptr && header_->ring_room.load() != RingRoom::none;
    std::vector<std::size_t> heaps;
    for (std::size_t rank = 0; rank < ranks_ && complete; ++rank)
        if (const std::size_t heap = heap_first(static_cast<int>(rank)); heap != 0)
            heaps.push_back(heap);
    unmap();
    if (lifeline_ != nullptr)
        lifeline_->release();
    if (lifeline_ != nullptr && !lifeline_->held_by_any()) {
        for (const std::size_t heap : heaps)
            memory_->free_range(heap, heap_bytes_);
        if (complete)
            memory_->free_range(first_, parts_->end);
        else if (has_rings)
            memory_->free_range(first_ + parts_->rings, parts_->end - parts_->rings);
    }
    memory_->unmapped();
}

bool Mapping::all_joined() const {
    std::size_t joined = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        joined += lines_[rank].joined.load(std::memory_order_acquire) != 0 ? 1u : 0u;
    return joined >= here_;
}

void Mapping::unmap() noexcept {
    // May be incomplete, if there was no room for the rest.
    for (std::size_t rank = 0; rank < ranks_ && heaps_ != nullptr; ++rank)
        if (std::byte *heap = heaps_[rank].load(); heap != nullptr)
            munmap(heap, heap_bytes_);
    if (std::byte *mail = mail_.load(); mail != nullptr)
        munmap(mail, mail_bytes(ranks_));
    if (std::byte *devices = devices_.load(); devices != nullptr)
        munmap(devices, device_bytes(ranks_));
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
    void *view = place == nullptr ? MAP_FAILED
                                  : mmap(place, heap_bytes_, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_NORESERVE | MAP_FIXED, memory_->fd(),
                                         static_cast<off_t>(heap_first(rank)));
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

void Mapping::take_heap(int rank) {
    if (heap_first(rank) == 0)
        lines_[rank].heap.store(memory_->take_range(heap_bytes_), std::memory_order_release);
}

std::size_t Mapping::heap_first(int rank) const {
    return lines_[rank].heap.load(std::memory_order_acquire);
}

// The offset of one mailbox among them.
std::size_t Mapping::offset_of(int from, int to) const {
    return kMailboxBytes * (static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to));
}

// The view of a part of the segment, which its first use maps.
std::byte *Mapping::map_once(std::atomic<std::byte *> &view, std::size_t first, std::size_t bytes,
                             const char *what) {
    std::byte *known = view.load(std::memory_order_acquire);
    if (known != nullptr)
        return known;
    void *fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       memory_->fd(), static_cast<off_t>(first_ + first));
    if (fresh == MAP_FAILED)
        throw_errno("cannot map " + std::string(what) + " of the shared segment");
    if (view.compare_exchange_strong(known, static_cast<std::byte *>(fresh)))
        return static_cast<std::byte *>(fresh);
    munmap(fresh, bytes); // another thread was faster
    return known;
}

std::byte *Mapping::mailbox(int from, int to) {
    return map_once(mail_, parts_->mail, mail_bytes(ranks_), "the mailboxes") + offset_of(from, to);
}

SharedDevice *Mapping::open_shared_devices() {
    const std::size_t bytes = device_bytes(ranks_);
    if (!has_room(bytes) || take_room(memory_->fd(), first_ + parts_->devices, bytes) != 0)
        throw Error(Status::memory, "no memory for what ranks share of devices (" +
                                        std::to_string(bytes >> 10) + " KiB); free memory");
    return reinterpret_cast<SharedDevice *>(
        map_once(devices_, parts_->devices, bytes, "the lists of device memory"));
}

void Mapping::open_mailbox(int from, int to) {
    if (!has_room(kMailboxBytes) ||
        take_room(memory_->fd(), first_ + parts_->mail + offset_of(from, to), kMailboxBytes) != 0)
        throw Error(Status::memory, "no memory for messages from rank " + std::to_string(from) +
                                        " to rank " + std::to_string(to) + " (" +
                                        std::to_string(kMailboxBytes >> 10) + " KiB); free memory");
}

} // namespace stretto::transport
