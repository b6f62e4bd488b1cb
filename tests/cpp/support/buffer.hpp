// SPDX-License-Identifier: BSD-3-Clause
// Buffers as callers have them: anywhere in a cache line, private or in the shared heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "support/world.hpp"

namespace test {

// Poisoned, with guards on both sides.  Elements are copied in and out, as they may straddle
// whatever the type would be aligned to.
template<class T>
class Buffer {
public:
    // `offset`: bytes from the start of a cache line to the first element.
    Buffer(stretto_comm comm, std::size_t count, bool shared, std::size_t offset)
        : comm_(comm), bytes_(count * sizeof(T)), shared_(shared), offset_(offset) {
        const std::size_t room = (2 * kGuard + offset + bytes_ + kLine - 1) / kLine * kLine;
        void *memory = nullptr;
        if (shared)
            check(stretto_alloc(comm, room, &memory));
        else if ((memory = std::aligned_alloc(kLine, room)) == nullptr)
            throw std::bad_alloc();
        memory_ = static_cast<std::byte *>(memory);
        std::memset(memory, kPoison, 2 * kGuard + offset + bytes_);
    }
    ~Buffer() {
        if (shared_)
            stretto_free(comm_, memory_);
        else
            std::free(memory_);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    std::byte *data() { return memory_ + kGuard + offset_; }
    void set(std::size_t i, T value) { std::memcpy(data() + i * sizeof(T), &value, sizeof(T)); }
    T get(std::size_t i) {
        T value;
        std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
        return value;
    }
    bool guards_hold() {
        return poisoned(memory_, data()) && poisoned(data() + bytes_, data() + bytes_ + kGuard);
    }
    bool untouched() { return poisoned(memory_, data() + bytes_ + kGuard); }

private:
    static constexpr int kPoison = 0x5a;
    static constexpr std::size_t kLine = 64, kGuard = kLine;

    static bool poisoned(const std::byte *first, const std::byte *last) {
        return std::all_of(first, last, [](std::byte b) { return b == std::byte{kPoison}; });
    }

    stretto_comm comm_;
    std::size_t bytes_;
    bool shared_;
    std::size_t offset_;
    std::byte *memory_ = nullptr;
};

} // namespace test
