// SPDX-License-Identifier: BSD-3-Clause
#include "support/scarce.hpp"

#include <cstdlib>
#include <new>

static void *allocate(std::size_t bytes, std::size_t alignment = 0) {
    if (test::allocations_left >= 0 && test::allocations_left-- == 0) {
        test::allocation_failed = true;
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

void *operator new(std::size_t bytes) {
    return allocate(bytes);
}
void *operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
// Whoever asks in this way can do without.
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
    return std::malloc(bytes == 0 ? 1 : bytes);
}
// But an array is scarce for them, too: that is an index, of which a test is without.
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept {
    try {
        return allocate(bytes);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
    std::free(memory);
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
