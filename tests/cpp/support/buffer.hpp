// SPDX-License-Identifier: BSD-3-Clause
// Buffers as callers have them: anywhere in a cache line, private or in the shared heap, or where
// the CPU does not reach them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "support/device_memory.hpp"
#include "support/world.hpp"

namespace test {

// Poisoned, with guards on both sides.  Elements are copied in and out, as they may straddle
// whatever the type would be aligned to.
template<class T>
class Buffer {
public:
    // `offset`: bytes from the start of a cache line to the first element.
    Buffer(stretto_comm comm, std::size_t count, bool shared, std::size_t offset,
           bool on_device = false)
        : comm_(comm), bytes_(count * sizeof(T)), shared_(shared), offset_(offset) {
        const std::size_t room = (2 * kGuard + offset + bytes_ + kLine - 1) / kLine * kLine;
        void *memory = nullptr;
        if (shared)
            check(stretto_alloc(comm, room, &memory));
        else if ((memory = std::aligned_alloc(kLine, room)) == nullptr)
            throw std::bad_alloc();
        memory_ = static_cast<std::byte *>(memory);
        std::memset(memory, kPoison, all());
        if (!shared && device_memory != nullptr)
            device_ = device_memory->allocate(room, on_device);
    }
    ~Buffer() {
        if (shared_)
            stretto_free(comm_, memory_);
        else
            std::free(memory_);
        if (device_ != nullptr)
            device_memory->free(device_);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    // For a call, which may read and write it until an element is asked for.
    std::byte *data() {
        if (device_ == nullptr)
            return first();
        if (changed_)
            device_memory->copy(device_, memory_, all());
        changed_ = false;
        given_ = true;
        return device_ + kGuard + offset_;
    }
    void set(std::size_t i, T value) {
        fetch();
        changed_ = true;
        std::memcpy(first() + i * sizeof(T), &value, sizeof(T));
    }
    T get(std::size_t i) {
        fetch();
        T value;
        std::memcpy(&value, first() + i * sizeof(T), sizeof(T));
        return value;
    }
    bool guards_hold() {
        fetch();
        return poisoned(memory_, first()) && poisoned(first() + bytes_, memory_ + all());
    }
    bool untouched() {
        fetch();
        return poisoned(memory_, memory_ + all());
    }

private:
    static constexpr int kPoison = 0x5a;
    static constexpr std::size_t kLine = 64, kGuard = kLine;

    static bool poisoned(const std::byte *first, const std::byte *last) {
        return std::all_of(first, last, [](std::byte b) { return b == std::byte{kPoison}; });
    }
    std::byte *first() { return memory_ + kGuard + offset_; }
    std::size_t all() const { return 2 * kGuard + offset_ + bytes_; }
    void fetch() {
        if (given_)
            device_memory->copy(memory_, device_, all());
        given_ = false;
    }

    stretto_comm comm_;
    std::size_t bytes_;
    bool shared_;
    std::size_t offset_;
    std::byte *memory_ = nullptr;         // what is in device memory, if there is any
    std::byte *device_ = nullptr;         // null: in host memory
    bool changed_ = true, given_ = false; // since the last copy to, or from, the device
};

} // namespace test
