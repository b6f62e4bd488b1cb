// SPDX-License-Identifier: BSD-3-Clause
// System calls that a signal interrupts.  Timers of profilers send thousands of signals a second,
// and most handlers are installed without SA_RESTART: the call then ends with EINTR and has to be
// repeated.
#pragma once

#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <span>

namespace stretto {

// Makes a system call until no signal interrupts it.  Not for close(2), which must not be repeated,
// nor for poll(2), whose time would begin again.
template<class Call>
auto uninterrupted(Call call) {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR)
            return result;
    }
}

// poll(2) for this many milliseconds, however many signals arrive meanwhile.
int poll_for(std::span<pollfd> entries, int milliseconds);

// Takes room in a file, as posix_fallocate(3) does, and returns an errno or 0.  It takes one piece
// at a time: if a signal arrives, a file in memory gives back all that the interrupted call has
// taken.
int take_room(int file, std::size_t offset, std::size_t bytes);

} // namespace stretto
