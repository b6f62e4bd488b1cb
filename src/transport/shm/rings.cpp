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

} // namespace stretto::transport
