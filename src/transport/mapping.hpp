// SPDX-License-Identifier: BSD-3-Clause
// The memory that the ranks of one host share, as a process has mapped it.
//
// Made by descriptor, so that no name can be left behind: the kernel frees it with the last
// process, however that dies.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "transport/layout.hpp"
#include "transport/lifeline.hpp"
#include "transport/rings.hpp"

namespace stretto::transport {

// A file of memory without a name, which processes share by its descriptor.  Throws Error.
Descriptor anonymous_file(const char *name, std::size_t bytes);

// Threads of one process that are ranks have one mapping: a thread sanitizer knows memory by its
// address.
class Mapping {
public:
    // By the rank that founds the job.  Throws Error(memory) if there is no room, before use.
    static std::shared_ptr<Mapping> create(const SegmentHeader &shape);
    // By the others, from the two descriptors of the founder (both become the mapping's).
    static std::shared_ptr<Mapping> attach(Descriptor fd, Descriptor heap_fd);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    int fd() const { return fd_.get(); }
    int heap_fd() const { return heap_fd_.get(); }
    SegmentHeader &header() const { return *header_; }
    LineBlock *lines() const { return lines_; }
    // Of each rank: a bit for each other, in whole lines; then the same again, of the roll.
    std::atomic<std::uint64_t> *news() const { return news_; }
    std::size_t news_words() const { return news_words_; }
    // Of the ranks here, in their order.
    const Rings &rings() const { return *rings_; }

    Lifeline &lifeline() const { return *lifeline_; }

    // The mailbox of a pair; all are mapped on the first use of one.
    std::byte *mailbox(int from, int to);
    // Takes the memory of a mailbox before the first write.  Throws Error(memory).
    void open_mailbox(int from, int to);
    // The heap window of a rank, mapped on first use, at the boundary of a huge page.
    std::byte *heap(int rank);

    // Nothing else may be done any more.  Writes nothing.
    void unmap() noexcept;

private:
    Mapping(Descriptor fd, Descriptor heap_fd) : fd_(std::move(fd)), heap_fd_(std::move(heap_fd)) {}
    void map(const SegmentHeader &shape);
    std::size_t mail_offset() const;
    std::size_t offset_of(int from, int to) const;

    Descriptor fd_, heap_fd_;
    std::vector<Descriptor> duplicates_; // where /proc is missing, a close would drop the locks
    SegmentHeader *header_ = nullptr;
    LineBlock *lines_ = nullptr;
    std::atomic<std::uint64_t> *news_ = nullptr;
    std::size_t news_words_ = 0;
    // As the header said when it was mapped.
    std::size_t ranks_ = 0, here_ = 0, ring_bytes_ = 0, heap_bytes_ = 0;
    std::unique_ptr<Rings> rings_;
    std::unique_ptr<Lifeline> lifeline_;
    std::atomic<std::byte *> mail_{nullptr};
    std::unique_ptr<std::atomic<std::byte *>[]> heaps_;
};

} // namespace stretto::transport
