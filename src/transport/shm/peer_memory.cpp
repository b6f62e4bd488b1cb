// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/peer_memory.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/uio.h>

#include "base/mix.hpp"

namespace stretto::transport {

namespace {

// Reads until all has come; 0, or the error.
int read_process(int process, std::uint64_t address, void *into, std::size_t bytes) {
    auto *to = static_cast<std::byte *>(into);
    while (bytes > 0) {
        const iovec here{to, bytes};
        const iovec there{reinterpret_cast<void *>(address), bytes};
        const ssize_t done = process_vm_readv(process, &here, 1, &there, 1, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EFAULT;
        to += done;
        address += static_cast<std::uint64_t>(done);
        bytes -= static_cast<std::size_t>(done);
    }
    return 0;
}

bool can_read(const Segment &segment, int rank) {
    const LineBlock &line = segment.lines(rank);
    const int process = segment.process(rank);
    std::uint64_t found = 0;
    return process != 0 &&
           read_process(process, line.word_at.load(std::memory_order_acquire), &found,
                        sizeof found) == 0 &&
           found == line.word.load(std::memory_order_relaxed);
}

} // namespace

void offer_memory(Segment &segment, int rank) {
    LineBlock &line = segment.lines(rank);
    std::uint64_t &own = segment.own_word();
    own = mix(segment.header().key, static_cast<std::uint64_t>(rank));
    line.word.store(own, std::memory_order_relaxed);
    line.word_at.store(reinterpret_cast<std::uintptr_t>(&own), std::memory_order_release);
}

void try_memory(Segment &segment, int rank, bool wanted) {
    bool works = wanted;
    for (int peer = 0; works && peer < segment.ranks(); ++peer)
        works = !segment.here(peer) || peer == rank || can_read(segment, peer);
    segment.lines(rank).attach.store(
        static_cast<std::uint32_t>(works ? Attach::works : Attach::refused),
        std::memory_order_release);
}

Attach attach_on_host(const Segment &segment) {
    Attach all = Attach::works;
    for (int rank = 0; rank < segment.ranks(); ++rank) {
        if (!segment.here(rank))
            continue;
        const auto one =
            static_cast<Attach>(segment.lines(rank).attach.load(std::memory_order_acquire));
        if (one == Attach::refused)
            return one;
        if (one == Attach::unknown)
            all = one;
    }
    return all;
}

void read_memory(const Segment &segment, int rank, std::uint64_t address, void *into,
                 std::size_t bytes) {
    const int process = segment.process(rank);
    const int why = read_process(process, address, into, bytes);
    if (why == 0)
        return;
    const std::string whose =
        segment.names().of(rank) + " (process " + std::to_string(process) + ")";
    if (why == ESRCH)
        throw Error(Status::peer, whose + " has died");
    throw Error(Status::system,
                "cannot read " + std::to_string(bytes) + " bytes in the memory of " + whose + ": " +
                    std::strerror(why) +
                    " (process_vm_readv); STRETTO_CMA=off goes through shared memory instead");
}

} // namespace stretto::transport
