// SPDX-License-Identifier: BSD-3-Clause
// XPMEM: a process maps the private memory of another process of its host.  It is a kernel module
// (https://github.com/hpc/xpmem) with a library, libxpmem.so.0, that is loaded at run time.
//
// The owner makes its memory a *segment*.  A reader gets a *permit* for it, and attaches parts of
// it.  The pages of an attached part are mapped when they are first touched.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace stretto::transport {

// The functions of the library, as its header declares them.  Each returns -1 if it fails, with
// errno as the kernel says.
struct Xpmem {
    struct Address {
        std::int64_t permit;
        off_t offset; // in the segment
    };
    std::int64_t (*make)(void *first, std::size_t bytes, int permit_type, void *permit) = nullptr;
    int (*remove)(std::int64_t segment) = nullptr;
    std::int64_t (*get)(std::int64_t segment, int flags, int permit_type, void *none) = nullptr;
    int (*release)(std::int64_t permit) = nullptr;
    void *(*attach)(Address from, std::size_t bytes, void *to) = nullptr;
    int (*detach)(void *at) = nullptr;

    // 0, or -1 with errno.
    std::int64_t permit_for(std::int64_t segment) const;
    // Null, with errno, if the kernel refuses.  `first` is the address of a page of the owner.
    std::byte *attach_at(std::int64_t permit, std::uint64_t first, std::size_t bytes) const;
};

// Loads the library.  Throws Error(system).
const Xpmem &xpmem();

// All memory of this process as a segment.  Made once in a process: the kernel removes it when the
// process ends.  A forked child has another.  Throws Error(system).
std::int64_t own_segment();

// Whether attached pages follow their owner when it unmaps memory and maps other memory at the same
// address (Attachments): tried with a page of this process.
bool attachments_follow();

} // namespace stretto::transport
