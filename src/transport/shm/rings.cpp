// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/rings.hpp"

#include <sys/mman.h>

#include "base/status.hpp"

namespace stretto::transport {

Rings::Rings(std::size_t ring_bytes, std::size_t ranks)
    : ring_bytes_(ring_bytes), bytes_(kViews * 2 * ring_bytes * ranks) {
    void *space =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        throw_errno("cannot reserve address space for the rings");
    first_ = static_cast<std::byte *>(space);
}

Rings::~Rings() {
    munmap(first_, bytes_);
}

void Rings::map(std::byte *ring, int file, std::size_t offset) const {
    for (std::size_t copy = 0; copy < kViews; ++copy)
        if (mmap(ring + copy * ring_bytes_, ring_bytes_, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset)) == MAP_FAILED)
            throw_errno("cannot map a ring of the shared segment");
}

// The second view of a ring and the first one of the next are neighbours here and in the file, so
// one call maps both.
void Rings::map_pairs(int file, std::size_t offset) const {
    const std::size_t rings = bytes_ / (kViews * ring_bytes_);
    for (std::size_t view = 0; view <= rings; ++view) {
        const std::size_t before = view == 0 ? 0 : view - 1; // rings in the file
        const std::size_t length = (view == 0 || view == rings ? 1 : 2) * ring_bytes_;
        std::byte *const place = first_ + (view + before) * ring_bytes_;
        if (mmap(place, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                 static_cast<off_t>(offset + before * ring_bytes_)) == MAP_FAILED)
            throw_errno("cannot map the rings of the shared segment");
    }
}

} // namespace stretto::transport
