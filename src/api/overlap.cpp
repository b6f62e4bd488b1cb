// SPDX-License-Identifier: BSD-3-Clause
#include "overlap.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>

#include "base/status.hpp"

namespace stretto::api {

namespace {

[[noreturn]] void refuse(const std::string &what, std::size_t shared, const char *remedy) {
    throw Error(Status::argument, what + " share " + std::to_string(shared) + " bytes; " + remedy);
}

bool by_address(const Range &a, const Range &b) {
    return std::less<>()(a.first, b.first);
}

// Sorts the parts by address, without empty ones.
void sort(std::vector<Range> &ranges) {
    std::erase_if(ranges, [](const Range &range) { return range.bytes == 0; });
    std::sort(ranges.begin(), ranges.end(), by_address);
}

constexpr const char *kSeparate =
    "give each its own memory, or pass STRETTO_IN_PLACE to work in place";

} // namespace

void keep_apart(const Range &send, const Range &recv) {
    if (const std::size_t shared = shared_bytes(send, recv); shared != 0) [[unlikely]]
        refuse("send and receive buffer", shared, kSeparate);
}

void keep_apart(std::vector<Range> send, std::vector<Range> recv) {
    sort(send);
    sort(recv);
    for (std::size_t i = 1; i < recv.size(); ++i)
        if (const std::size_t shared = shared_bytes(recv[i - 1], recv[i]); shared != 0)
            refuse("the parts of two ranks in the receive buffer", shared,
                   "give each its own place");
    // Received parts do not overlap one another here.  So if any of them overlaps a sent part, it
    // is the last one that begins before it or the first one that begins after.
    for (const Range &each : send) {
        const auto after = std::upper_bound(recv.begin(), recv.end(), each, by_address);
        if (after != recv.begin())
            keep_apart(each, *std::prev(after));
        if (after != recv.end())
            keep_apart(each, *after);
    }
}

} // namespace stretto::api
