// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/turn.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace stretto::transport {

Turn::Turn(const Segment &segment, int rank)
    : file_(open(("/proc/self/fd/" + std::to_string(segment.memory()->fd())).c_str(),
                 O_RDWR | O_CLOEXEC)) {
    // From look to look.  If many ranks wait, one of them finds a free turn soon, and each look
    // takes the core from a rank that has a turn.
    constexpr unsigned kShortestUs = 100, kLongestUs = 5'000, kForEachRankUs = 1'000;
    const unsigned longest_us = std::max(kLongestUs, kForEachRankUs * segment.ranks_per_core());
    const auto turns = static_cast<int>(segment.cores_here());
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(segment.first_byte()) + segment.ranks() +
                   segment.placement().place(rank) % turns;
    lock.l_len = 1;
    unsigned nap = kShortestUs;
    while (file_.open() && fcntl(file_.get(), F_OFD_SETLK, &lock) != 0 &&
           (errno == EAGAIN || errno == EACCES || errno == EINTR)) {
        if (segment.failed())
            throw segment.failure();
        usleep(nap);
        nap = std::min(2 * nap, longest_us);
    }
}

} // namespace stretto::transport
