// SPDX-License-Identifier: BSD-3-Clause
// A heap that fails when told to: include it in one source of a test program only, whose operator
// new it replaces, also for libstretto.
#pragma once

#include <cstdlib>
#include <new>

namespace test {

// Of this thread: how many allocations succeed before one fails; negative: all do.
inline thread_local long allocations_left = -1;
inline thread_local bool allocation_failed = false;

// Lets the n-th allocation of this thread fail, until destroyed.
class Scarce {
public:
    explicit Scarce(long n) {
        allocation_failed = false;
        allocations_left = n;
    }
    ~Scarce() { allocations_left = -1; }
    Scarce(const Scarce &) = delete;
    Scarce &operator=(const Scarce &) = delete;
    bool struck() const { return allocation_failed; }
};

inline void *scarce_allocate(std::size_t bytes, std::size_t alignment = 0) {
    if (allocations_left >= 0 && allocations_left-- == 0) {
        allocation_failed = true;
        throw std::bad_alloc();
    }
    void *memory =
        alignment == 0
            ? std::malloc(bytes == 0 ? 1 : bytes)
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}

} // namespace test

void *operator new(std::size_t bytes) {
    return test::scarce_allocate(bytes);
}
void *operator new(std::size_t bytes, std::align_val_t alignment) {
    return test::scarce_allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
