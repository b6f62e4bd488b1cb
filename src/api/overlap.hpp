// SPDX-License-Identifier: BSD-3-Clause
// The C API: what a call reads and what it writes share no memory.  Ranks would read what others
// have written there already, and whether they do depends on the algorithm and on who is first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto::api {

// `bytes` at `first`; none are nowhere.
struct Range {
    const void *first = nullptr;
    std::size_t bytes = 0;
};

// Bytes that both hold.  Addresses may be nonsense, so nothing is added to them.
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
// The same of buffers with a part for each rank: no part of what is sent shares memory with one
// that is received, nor do two parts that are received.
void keep_apart(std::vector<Range> send, std::vector<Range> recv);

} // namespace stretto::api
