// SPDX-License-Identifier: BSD-3-Clause
// What the kernels are given, by the host: kernel parameters, copied at the launch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::device {

// Threads work on chunks of this size.
inline constexpr std::size_t kChunkBytes = 16;
inline constexpr unsigned kBlockThreads = 256;
// Chunks that a thread has on their way at a time.
inline constexpr unsigned kUnrollChunks = 4;
// Operands and results of one pass.
inline constexpr int kMostPassPointers = 128;

// How a kernel cuts its buffers: bytes before the first chunk, which are whole elements, and the
// widest access that suits all buffers from there on: 1, 2, 4, 8 or 16 bytes.
struct ChunkLayout {
    std::uint32_t head, width;
};

// As reduce::Pass says, but for the copy of one operand, which has its own kernel.
struct PassArguments {
    std::uint64_t bytes; // of each buffer
    ChunkLayout layout;
    std::int32_t ins, outs;
    void *pointers[kMostPassPointers]; // operands, in fold order, and then results
};

// As reduce::Map says.
struct MapArguments {
    std::uint64_t bytes;
    ChunkLayout layout;
    double divisor;
    // The factor, repeated.
    alignas(kChunkBytes) unsigned char factor[kChunkBytes];
    void *out;
    const void *in;
};

} // namespace stretto::device
