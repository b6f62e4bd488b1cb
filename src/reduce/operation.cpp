// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/operation.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace stretto::reduce {

namespace {

// The user's function works on copies of the operands if it would overwrite them or if they are not
// aligned.  The copies are made piece by piece, so that they stay in a private cache.
constexpr std::size_t kPieceBytes = 65536; // or fewer, so that elements are whole

struct alignas(64) Line {
    std::byte bytes[64];
};

std::byte *copies(std::size_t bytes) {
    static thread_local std::vector<Line> memory;
    const std::size_t lines = (2 * bytes + sizeof(Line) - 1) / sizeof(Line);
    if (memory.size() < lines)
        memory.resize(lines);
    return memory[0].bytes;
}

} // namespace

void fold(const Operation &operation, Dtype dtype, void *const *out, int outs,
          const void *const *in, int ins, std::size_t count) {
    const std::size_t element = size_of(dtype), all = count * element;
    const std::size_t most = kPieceBytes / element * element, room = std::min(all, most);
    // The largest alignment that an element of this size can have.
    const std::size_t alignment = std::min(element & (~element + 1), kLargestElementBytes);
    if (room == 0)
        return;
    std::byte *left = copies((room + 63) / 64 * 64), *right = left + (room + 63) / 64 * 64;
    for (std::size_t at = 0; at < all; at += most) {
        const std::size_t bytes = std::min(most, all - at);
        const auto operand = [&](int k) { return static_cast<const std::byte *>(in[k]) + at; };
        const void *first = operand(0);
        if (reinterpret_cast<std::uintptr_t>(first) % alignment != 0)
            first = std::memcpy(left, first, bytes);
        for (int k = 1; k < ins; ++k) {
            std::memcpy(right, operand(k), bytes);
            operation.function(first, right, bytes / element, dtype);
            std::swap(left, right);
            first = left;
        }
        for (int j = 0; j < outs; ++j)
            std::memcpy(static_cast<std::byte *>(out[j]) + at, first, bytes);
    }
}

} // namespace stretto::reduce
