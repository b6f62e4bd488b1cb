// SPDX-License-Identifier: BSD-3-Clause
#include "base/interrupted.hpp"

#include <algorithm>
#include <cstdint>
#include <fcntl.h>

#include "base/clock.hpp"

namespace stretto {

int poll_for(std::span<pollfd> entries, int milliseconds) {
    const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(milliseconds) * 1'000'000;
    for (;;) {
        const int ready = poll(entries.data(), entries.size(), milliseconds);
        if (ready >= 0 || errno != EINTR)
            return ready;
        const std::uint64_t now = now_ns();
        // Rounded up, so that the last part of a millisecond is waited for as well.
        milliseconds = end > now ? static_cast<int>((end - now + 999'999) / 1'000'000) : 0;
    }
}

int take_room(int file, std::size_t offset, std::size_t bytes) {
    constexpr std::size_t kMostBytes = 8u << 20, kLeastBytes = 64u << 10;
    std::size_t piece = kMostBytes;
    while (bytes > 0) {
        const std::size_t now = std::min(piece, bytes);
        const int error =
            posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(now));
        if (error == EINTR) {
            piece = std::max(piece / 2, kLeastBytes);
            continue;
        }
        if (error != 0)
            return error;
        offset += now;
        bytes -= now;
    }
    return 0;
}

} // namespace stretto
