// SPDX-License-Identifier: BSD-3-Clause
// The kind of memory of a call's buffers.
#pragma once

#include <cstdint>
#include <string_view>

namespace stretto {

enum class MemoryKind : std::uint8_t {
    host, // any thread of the process reads and writes it
    cuda, // of a CUDA device: an executor (engine/executor.hpp) reads and writes it
};
inline constexpr int kMemoryKinds = 2;

// For messages: "host memory".
constexpr std::string_view words(MemoryKind kind) {
    constexpr std::string_view names[kMemoryKinds] = {"host memory", "CUDA memory"};
    return names[static_cast<int>(kind)];
}

} // namespace stretto
