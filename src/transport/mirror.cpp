// SPDX-License-Identifier: BSD-3-Clause
// The memory of a segment's rings, of ranks on other hosts and on this one.
#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "base/memory.hpp"
#include "base/status.hpp"
#include "transport/segment.hpp"

namespace stretto::transport {

void Segment::open_mirror(int rank, std::size_t first, std::size_t bytes) {
    constexpr std::size_t kGrant = 256u << 10; // as to ask what there is takes long
    const auto at = static_cast<std::size_t>(placement_.place(rank));
    std::vector<bool> &taken = mirrored_[at];
    const std::size_t pages = ring_bytes_ / page_;
    if (taken.empty())
        taken.resize(pages);
    for (std::size_t next = first / page_; next * page_ < first + bytes; ++next) {
        const std::size_t page = next % pages; // perhaps over the end
        if (taken[page])
            continue;
        if (granted_ == 0 && available_memory() >= kGrant)
            granted_ = kGrant;
        if (granted_ == 0 ||
            posix_fallocate(mirror_fd_.get(), static_cast<off_t>(ring_bytes_ * at + page_ * page),
                            static_cast<off_t>(page_)) != 0)
            throw Error(Status::memory, "no memory for what comes from rank " +
                                            std::to_string(rank) +
                                            "; free memory, or lower STRETTO_RING_BYTES");
        granted_ -= page_;
        taken[page] = true;
    }
}

void Segment::populate(int rank) {
    const std::size_t most = std::min<std::size_t>(ring_bytes_, 1u << 20);
    for (std::byte *const ring : {cells(rank), bulk(rank)})
        (void)madvise(ring, most, MADV_POPULATE_WRITE); // Linux 5.14
}

} // namespace stretto::transport
