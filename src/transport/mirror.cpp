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

static constexpr std::size_t kMirrorPiece = 256u << 10; // of a ring

void Segment::open_mirror(int rank, Ring ring, std::size_t first, std::size_t bytes) {
    std::vector<bool> &taken = mirrored_[static_cast<std::size_t>(placement_.place(rank))];
    const std::size_t piece = std::min(ring_bytes_, kMirrorPiece), pieces = ring_bytes_ / piece;
    if (taken.empty())
        taken.resize(2 * pieces);
    for (std::size_t at = first / piece; at * piece < first + bytes; ++at) // perhaps over the end
        if (const std::size_t each = at % pieces + (ring == Ring::bulk ? pieces : 0);
            !taken[each]) {
            take_mirror(rank, each);
            taken[each] = true;
        }
}

// Counted from the beginning of the cells.
void Segment::take_mirror(int rank, std::size_t piece) {
    const std::size_t bytes = std::min(ring_bytes_, kMirrorPiece), at = piece * bytes;
    const std::size_t place = 2 * ring_bytes_ * static_cast<std::size_t>(placement_.place(rank));
    if (bytes > available_memory() ||
        posix_fallocate(mirror_fd_.get(), static_cast<off_t>(place + at),
                        static_cast<off_t>(bytes)) != 0)
        throw Error(Status::memory, "no memory for what comes from rank " + std::to_string(rank) +
                                        " (" + std::to_string(bytes >> 10) +
                                        " KiB more); free memory, or lower STRETTO_RING_BYTES");
    std::byte *const begin = at < ring_bytes_ ? cells(rank) + at : bulk(rank) + (at - ring_bytes_);
    (void)madvise(begin, bytes, MADV_POPULATE_WRITE); // Linux 5.14
}

void Segment::populate(int rank) {
    const std::size_t most = std::min<std::size_t>(ring_bytes_, 1u << 20);
    for (std::byte *const ring : {cells(rank), bulk(rank)})
        (void)madvise(ring, most, MADV_POPULATE_WRITE); // Linux 5.14
}

} // namespace stretto::transport
