// SPDX-License-Identifier: BSD-3-Clause
// The memory of other ranks of a host that one rank has attached by XPMEM.
//
// An attachment must not outlive the memory that it shows: if its owner unmaps that and maps other
// memory at the same address, a reader that goes on with old pages computes with old data.  The
// owner cannot tell its readers: it does not know when the program, or free(), unmaps memory.
//
// The kernel module knows.  When a process unmaps, discards, moves or forks pages, the kernel
// notifies the module (an MMU notifier), and the module takes these pages out of all attachments
// before the system call returns.  The next read maps what is at the address then.  Pages that are
// attached are pinned, so the kernel itself does not move them.
//
// But not every module need do so, nor with every kernel.  So each process tries it with a page of
// its own (attachments_follow()).  Where attachments follow, they are *kept* from call to call: up
// to a number of bytes for each owner, and the least recently used goes first.  Where they do not,
// an attachment lasts for one step of a call.  In a call that waits for its readers the owner may
// change nothing meanwhile, so that is right whatever the module does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "transport/shm/xpmem.hpp"

namespace stretto::transport {

class Attachments {
public:
    struct Limits {
        // Attachments that are kept begin and end at multiples of this: a long vector that is read
        // in slices takes few of them.  They may cover addresses without memory.
        std::size_t granule_bytes = std::size_t{8} << 20;
        // Of each owner; a step that needs more takes more meanwhile.
        std::size_t most_bytes = std::size_t{1} << 30;
    };

    // Throws std::bad_alloc.
    Attachments(const Xpmem &functions, int ranks, bool kept, const Limits &limits);
    Attachments(const Xpmem &functions, int ranks, bool kept)
        : Attachments(functions, ranks, kept, Limits()) {}
    ~Attachments();
    Attachments(const Attachments &) = delete;
    Attachments &operator=(const Attachments &) = delete;

    // Where this process can read bytes of `rank`, whose memory is this segment; valid until
    // end_step().  Null, with errno, if the kernel refuses.  Throws std::bad_alloc.
    const std::byte *find(int rank, std::int64_t segment, std::uint64_t address, std::size_t bytes);
    void end_step();

    bool kept() const { return kept_; }
    std::size_t bytes_of(int rank) const { return owners_[static_cast<std::size_t>(rank)].bytes; }

private:
    struct Attached {
        std::uint64_t first, end; // addresses of the owner
        std::byte *at;
        std::uint64_t step; // the last that used it
    };
    struct Owner {
        std::int64_t permit = 0; // 0: none yet
        std::vector<Attached> attached;
        std::size_t bytes = 0;
    };

    const Attached *attach(Owner &owner, std::uint64_t first, std::uint64_t end);
    void detach(Owner &owner, std::size_t index);
    void make_room(Owner &owner, std::size_t bytes);

    const Xpmem &functions_;
    const bool kept_;
    const std::size_t page_bytes_;
    const Limits limits_;
    const pid_t process_;
    std::uint64_t step_ = 1;
    std::vector<Owner> owners_; // by rank
};

} // namespace stretto::transport
