// SPDX-License-Identifier: BSD-3-Clause
// What a program does with streams of its own, by the driver's functions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int cuStreamSynchronize(void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamWaitValue32_v2(void *stream, unsigned long long word, std::uint32_t value,
                           unsigned flags);
int cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags);
int cuMemFreeHost(void *memory);
int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void *stream);
}

namespace test {

inline unsigned long long address(const void *memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

} // namespace test
