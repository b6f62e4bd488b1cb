// SPDX-License-Identifier: BSD-3-Clause
// Connections that have been idle between two calls, when the next one comes.
//
// TCP forgets what a connection has carried when nothing was sent for a retransmission timeout,
// 200 ms at least (RFC 5681, section 4.1), and then begins with ten packets.  Who computes for so
// long would pay for that in each call, and most of all the rank that comes last, for whose vector
// all others wait.  So shortly before this rank comes, by its habit, its agent sends some bytes to
// those to whom the call will send: nobody needs them, and the window that they open lasts.
//
// Source: Proficz 2018, section 3.1: the thread that exchanges estimates warms up the connections.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/peer_watch.hpp"

namespace stretto::comm {

// Nanoseconds after which a connection counts as idle, and before the rank comes: less, so that it
// is not idle again when the rank comes a little late.
static constexpr std::uint64_t kIdle = 180'000'000, kAhead = 80'000'000;
// Bytes for each connection, and of the vector, what goes to all together is such a part of.
static constexpr std::size_t kMost = 128u << 10, kLeast = 16u << 10, kPart = 16;

void Communicator::warm_for_next(const Request &request, Watched &watched, std::uint64_t came) {
    const std::uint64_t before = std::exchange(watched.came, came), now = now_ns();
    const std::uint64_t next = came + (came - before); // by its habit
    if (before == 0 || next < now + kIdle)
        return;
    std::vector<int> readers;
    for (const engine::StepReader &reader : site(request).plan->readers)
        if (!segment_->here(reader.rank))
            readers.push_back(reader.rank);
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    if (readers.empty())
        return;
    const std::size_t vector = vector_count(request) * size_of(request.dtype);
    const std::size_t bytes = std::min(kMost, vector / kPart / readers.size());
    if (bytes >= kLeast)
        joined_.ward->warm_at(next - kAhead, std::move(readers), bytes);
}

} // namespace stretto::comm
