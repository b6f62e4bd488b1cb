// SPDX-License-Identifier: BSD-3-Clause
// The C API: checks that the buffers that a call reads and writes share no memory.  Otherwise a
// rank might read data that another rank has already overwritten, depending on the algorithm and on
// which rank is first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto::api {

// `bytes` bytes at `first`; an empty range overlaps nothing.
struct Range {
    const void *first = nullptr;
    std::size_t bytes = 0;
};

// The number of bytes that both contain.  Addresses may be invalid, so nothing is added to them.
inline std::size_t shared_bytes(const Range &a, const Range &b) {
    const auto address = [](const Range &range) {
        return reinterpret_cast<std::uintptr_t>(range.first);
    };
    const bool in_order = address(a) <= address(b);
    const Range &low = in_order ? a : b, &high = in_order ? b : a;
    const std::size_t distance = address(high) - address(low);
    if (high.bytes == 0 || distance >= low.bytes)
        return 0;
    const std::size_t rest = low.bytes - distance;
    return rest < high.bytes ? rest : high.bytes;
}

// Throws Error(argument) if they share memory.
void keep_apart(const Range &send, const Range &recv);
// The same for buffers with a part for each rank: no sent part shares memory with a received part,
// and no two received parts share memory.
void keep_apart(std::vector<Range> send, std::vector<Range> recv);

} // namespace stretto::api
