// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/job_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/interrupted.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "base/status.hpp"
#include "transport/shm/lifeline.hpp"

namespace stretto::transport {

namespace {

constexpr std::uint64_t kMagic = 0x6f74746572747309; // "\6strett o" and the layout's version

// Bytes that the limit of this process allows a file to have.
std::size_t longest_file() {
    constexpr std::size_t kLongestBytes = std::size_t{1} << 62;
    struct rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return kLongestBytes;
    return std::min<std::size_t>(limit.rlim_cur, kLongestBytes);
}

bool resize(int file, std::size_t bytes) {
    return uninterrupted([&] { return ftruncate(file, static_cast<off_t>(bytes)); }) == 0;
}

// Before the first segment.
std::size_t head_bytes(std::size_t ranks) {
    return round_up(sizeof(JobHeader), alignof(JobRank)) + sizeof(JobRank) * ranks;
}

// The memory of this process's jobs, by file identity.
using Registry = std::map<std::pair<dev_t, ino_t>, std::weak_ptr<JobMemory>>;
auto &registry_mutex = *new ProcessLock; // threads may outlive main()
auto &registry = *new Registry;

std::weak_ptr<JobMemory> &registered(int fd) {
    struct stat status{};
    if (fstat(fd, &status) != 0)
        throw_errno("cannot examine the shared memory of the job");
    std::erase_if(registry, [](const auto &entry) { return entry.second.expired(); });
    return registry[{status.st_dev, status.st_ino}];
}

} // namespace

Descriptor anonymous_file(const char *name, std::size_t bytes) {
    // Beyond the limit of file sizes the kernel sends a signal that kills the process, so the limit
    // is checked first.
    if (const std::size_t longest = longest_file(); bytes > longest)
        throw Error(Status::memory, "shared memory of " + std::to_string(bytes) +
                                        " bytes exceeds this process's limit of file sizes, " +
                                        std::to_string(longest) +
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
    if (!resize(file.get(), bytes))
        throw_errno("cannot size the shared segment to " + std::to_string(bytes) + " bytes");
    return file;
}

JobMemory::JobMemory(Descriptor file) : file_(std::move(file)), own_(open_again(file_.get())) {}

JobMemory::~JobMemory() {
    unmap();
}

void JobMemory::unmap() noexcept {
    if (header_ != nullptr)
        munmap(header_, head_bytes(header_->ranks));
    header_ = nullptr;
}

void JobMemory::unmapped_in_child() noexcept {
    if (--segments_ == 0)
        unmap();
}

std::shared_ptr<JobMemory> JobMemory::create(std::size_t ranks, std::size_t segment_bytes) {
    const std::size_t first = round_up(head_bytes(ranks), kHugePageBytes);
    const std::size_t needed = first + round_up(segment_bytes, kHugePageBytes);
    Descriptor file = anonymous_file("stretto", needed);
    for (std::size_t bytes = longest_file(); bytes > needed && !resize(file.get(), bytes);)
        bytes /= 2;
    std::shared_ptr<JobMemory> memory(new JobMemory(std::move(file)));
    if (take_room(memory->fd(), 0, head_bytes(ranks)) != 0)
        throw Error(Status::memory, "no memory to begin a job; free memory");
    memory->map(ranks);
    memory->header_->ranks = ranks;
    memory->header_->next.store(first, std::memory_order_relaxed);
    memory->header_->magic = kMagic;
    const std::lock_guard lock(registry_mutex);
    registered(memory->fd()) = memory;
    return memory;
}

std::shared_ptr<JobMemory> JobMemory::attach(Descriptor file) {
    const std::lock_guard lock(registry_mutex);
    std::weak_ptr<JobMemory> &known = registered(file.get());
    if (auto memory = known.lock()) {
        memory->duplicates_.push_back(std::move(file));
        return memory;
    }
    JobHeader head{};
    if (pread(file.get(), &head, offsetof(JobHeader, next), 0) != offsetof(JobHeader, next))
        throw_errno("cannot read the shared memory of the job");
    if (head.magic != kMagic)
        throw Error(Status::mismatch,
                    "the ranks of this job run different versions of Stretto; install one version");
    std::shared_ptr<JobMemory> memory(new JobMemory(std::move(file)));
    memory->map(head.ranks);
    known = memory;
    return memory;
}

void JobMemory::map(std::size_t ranks) {
    struct stat status{};
    if (fstat(fd(), &status) != 0)
        throw_errno("cannot examine the shared memory of the job");
    bytes_ = static_cast<std::size_t>(status.st_size);
    void *head = mmap(nullptr, head_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
    if (head == MAP_FAILED)
        throw_errno("cannot map the shared memory of the job");
    header_ = static_cast<JobHeader *>(head);
    ranks_ = reinterpret_cast<JobRank *>(static_cast<std::byte *>(head) +
                                         round_up(sizeof(JobHeader), alignof(JobRank)));
}

std::size_t JobMemory::first_range() const {
    return round_up(head_bytes(header_->ranks), kHugePageBytes);
}

std::size_t JobMemory::take_range(std::size_t bytes) {
    std::uint64_t first = header_->next.load(std::memory_order_relaxed), next = 0;
    do {
        next = first + round_up(bytes, kHugePageBytes);
        if (next > bytes_)
            throw Error(Status::memory,
                        "the communicators of the job and their heap windows have taken so much of "
                        "its shared memory, " +
                            std::to_string(bytes_) + " bytes, that " + std::to_string(bytes) +
                            " more are not there; raise the limit of file sizes (ulimit -f), or "
                            "lower STRETTO_HEAP_BYTES");
    } while (!header_->next.compare_exchange_weak(first, next, std::memory_order_relaxed));
    return first;
}

void JobMemory::free_range(std::size_t first, std::size_t bytes) noexcept {
    // If the hole cannot be punched, the pages are freed with the job.
    (void)fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                    static_cast<off_t>(bytes));
}

Invitation *JobMemory::invite(int creator, std::uint64_t name, std::size_t range) {
    for (Invitation &each : rank(creator).invitations) {
        std::uint64_t free = 0;
        if (!each.name.compare_exchange_strong(free, name, std::memory_order_acq_rel))
            continue;
        each.range.store(range, std::memory_order_release);
        return &each;
    }
    return nullptr;
}

void JobMemory::withdraw(Invitation &invitation) noexcept {
    invitation.range.store(0, std::memory_order_release);
    invitation.name.store(0, std::memory_order_release);
}

std::optional<std::size_t> JobMemory::invited(int creator, std::uint64_t name) const {
    for (const Invitation &each : rank(creator).invitations) {
        const std::uint64_t range = each.range.load(std::memory_order_acquire);
        // No two invitations have the same range, so if it has not changed, the name is its own.
        if (range != 0 && each.name.load(std::memory_order_acquire) == name &&
            each.range.load(std::memory_order_acquire) == range)
            return range;
    }
    return std::nullopt;
}

} // namespace stretto::transport
