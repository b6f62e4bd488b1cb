// SPDX-License-Identifier: BSD-3-Clause
// The kind of memory of a call's buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

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

// Throws Error(argument) if the number is not one of a kind.
inline MemoryKind memory_kind(std::uint64_t value) {
    if (value >= kMemoryKinds)
        throw Error(Status::argument, "memory kind " + std::to_string(value) +
                                          " does not exist; 0 is host memory, 1 CUDA memory");
    return static_cast<MemoryKind>(value);
}

} // namespace stretto
