// SPDX-License-Identifier: BSD-3-Clause
// The memory of the ranks of one host in a job.
//
//     | job header | records of rank 0, 1, ... of the job | segment of the job | other ranges ... |
//
// It is a file without a name, so that nothing can be left behind: the kernel frees it with the
// last process, however that ends.  The segment of each communicator is a range of this file, and
// so is the heap window of each rank that allocates in one; no byte ever lies in two ranges.  So
// ranks that make a communicator need no descriptor of one another: one of them takes a range, and
// says in its record where it is.
//
// The file is as long as the kernel allows, but has only the pages that ranks take.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/core_set.hpp"
#include "base/descriptor.hpp"
#include "transport/shm/layout.hpp"

namespace stretto::transport {

// A file of memory without a name, which processes share by its descriptor.  Throws Error.
Descriptor anonymous_file(const char *name, std::size_t bytes);

// "The communicator of this name has its segment there."
struct Invitation {
    std::atomic<std::uint64_t> name;  // 0: the invitation is free
    std::atomic<std::uint64_t> range; // 0: it is being written, or withdrawn
};

// A rank of the job.
struct JobRank {
    // The processors that it may use.  The founder writes it before any other rank maps the memory.
    CoreSet cores;
    // Of the communicators that this rank creates at the moment, one for each of its threads.
    static constexpr std::size_t kInvitations = 64;
    alignas(kLineBytes) std::array<Invitation, kInvitations> invitations;
};

struct JobHeader {
    std::uint64_t magic;
    std::uint64_t ranks; // that have a record
    std::uint32_t quota; // cores that the quota of the founder's control groups is worth
    std::atomic<std::uint32_t> fences; // 1: some rank has no asymmetric barrier (Signals)
    alignas(kLineBytes) std::atomic<std::uint64_t> next; // the first byte that no segment has
};

class JobMemory {
public:
    // Called by the founder, the rank that creates the memory: for a job of so many ranks, whose
    // segment takes `segment_bytes`.  Throws Error.
    static std::shared_ptr<JobMemory> create(std::size_t ranks, std::size_t segment_bytes);
    // Called by the other ranks with the founder's descriptor, which the object owns from then on.
    // Ranks that are threads of one process get the same object.
    static std::shared_ptr<JobMemory> attach(Descriptor file);
    ~JobMemory();
    JobMemory(const JobMemory &) = delete;
    JobMemory &operator=(const JobMemory &) = delete;

    JobHeader &header() const { return *header_; }
    JobRank &rank(int rank) const { return ranks_[rank]; }

    int fd() const { return file_.get(); }
    // The same file by a description of this process alone (lifeline.hpp); -1: there is none.
    int own_fd() const { return own_.get(); }

    // The segment of the job begins here.
    std::size_t first_range() const;
    // Takes a range, of which no other ever has a part.  Throws Error(memory) if the file is not
    // that long.
    std::size_t take_range(std::size_t bytes);
    // Returns the pages of a range, which no rank uses any more.
    void free_range(std::size_t first, std::size_t bytes) noexcept;

    // `creator` says where the communicator of this name has its segment, until withdraw(), which
    // gets the result.  Null if the rank invites to as many as it can.  `name` is not 0.
    Invitation *invite(int creator, std::uint64_t name, std::size_t range);
    static void withdraw(Invitation &invitation) noexcept;
    // What `creator` says at the moment.
    std::optional<std::size_t> invited(int creator, std::uint64_t name) const;

    // A segment is mapped here, or no more.
    void mapped() noexcept { ++segments_; }
    void unmapped() noexcept { --segments_; }
    // In a forked child: a segment is mapped no more.  With the last one everything is unmapped,
    // and nothing here can be used after that.
    void unmapped_in_child() noexcept;

private:
    explicit JobMemory(Descriptor file);
    void map(std::size_t ranks);
    void unmap() noexcept;

    const Descriptor file_;
    Descriptor own_;
    std::vector<Descriptor> duplicates_; // kept open: without /proc, closing one drops the locks
    std::size_t bytes_ = 0;              // of the file
    JobHeader *header_ = nullptr;
    JobRank *ranks_ = nullptr;
    std::atomic<int> segments_{0};
};

} // namespace stretto::transport
