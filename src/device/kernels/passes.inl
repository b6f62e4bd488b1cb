// SPDX-License-Identifier: BSD-3-Clause
// One pass by all threads of a grid: chunks of 16 bytes, and the elements before and after them.
//
// With 16-byte accesses, a pass over 100 bytes of 4-byte elements at addresses 8 before a multiple
// of 16 is
//
//     [0, 8)      head     2 elements, a thread each
//     [8, 88)     chunks   5 of them, a thread each
//     [88, 100)   tail     3 elements
//
// A thread reads its bytes from all operands before it writes them anywhere, and no other thread
// touches them: so an output may be an operand.
#pragma once

#include "device/kernels/operations.inl"

namespace stretto::device {
namespace {

template<class Word>
__device__ __forceinline__ Chunk load_words(const unsigned char *from) {
    Lanes<Word, kChunkBytes / sizeof(Word)> words;
    for (std::size_t i = 0; i < words.kLanes; ++i)
        words.lane[i] = reinterpret_cast<const Word *>(from)[i];
    return as<Chunk>(words);
}

template<class Word>
__device__ __forceinline__ void store_words(unsigned char *to, Chunk chunk) {
    const auto words = as<Lanes<Word, kChunkBytes / sizeof(Word)>>(chunk);
    for (std::size_t i = 0; i < words.kLanes; ++i)
        reinterpret_cast<Word *>(to)[i] = words.lane[i];
}

// How threads reach memory: whole chunks at once, or in accesses of `width` bytes.
struct Whole {
    static constexpr unsigned kAtOnceChunks = kUnrollChunks;
    std::uint32_t width;
    __device__ __forceinline__ Chunk load(const unsigned char *from) const {
        return *reinterpret_cast<const Chunk *>(from);
    }
    __device__ __forceinline__ void store(unsigned char *to, Chunk chunk) const {
        *reinterpret_cast<Chunk *>(to) = chunk;
    }
};
struct Narrow {
    static constexpr unsigned kAtOnceChunks = 1; // more would take long to compile
    std::uint32_t width;
    __device__ __forceinline__ Chunk load(const unsigned char *from) const {
        switch (width) {
        case 8: return load_words<std::uint64_t>(from);
        case 4: return load_words<std::uint32_t>(from);
        case 2: return load_words<std::uint16_t>(from);
        default: return load_words<std::uint8_t>(from);
        }
    }
    __device__ __forceinline__ void store(unsigned char *to, Chunk chunk) const {
        switch (width) {
        case 8: return store_words<std::uint64_t>(to, chunk);
        case 4: return store_words<std::uint32_t>(to, chunk);
        case 2: return store_words<std::uint16_t>(to, chunk);
        default: return store_words<std::uint8_t>(to, chunk);
        }
    }
};
// One element, in the first bytes of a chunk.
template<std::size_t Bytes>
struct Single {
    __device__ __forceinline__ Chunk load(const unsigned char *from) const {
        Lanes<unsigned char, kChunkBytes> bytes{};
        for (std::size_t i = 0; i < Bytes; ++i)
            bytes.lane[i] = from[i];
        return as<Chunk>(bytes);
    }
    __device__ __forceinline__ void store(unsigned char *to, Chunk chunk) const {
        const auto bytes = as<Lanes<unsigned char, kChunkBytes>>(chunk);
        for (std::size_t i = 0; i < Bytes; ++i)
            to[i] = bytes.lane[i];
    }
};

template<unsigned Chunks>
struct Many {
    static constexpr unsigned kChunks = Chunks;
};

// `work(at, stride, access, many)` for all bytes of a grid's buffers: on so many chunks that are
// `stride` bytes apart, or on one element.
template<class Access, class Work>
__device__ __forceinline__ void for_chunks(std::uint64_t bytes, ChunkLayout layout, Work &&work) {
    const Access access{layout.width};
    const std::uint64_t chunks = (bytes - layout.head) / kChunkBytes;
    constexpr unsigned at_once = Access::kAtOnceChunks;
    const std::uint64_t turn = std::uint64_t{blockDim.x} * at_once;
    for (std::uint64_t first = blockIdx.x * turn; first < chunks; first += gridDim.x * turn) {
        const std::uint64_t mine = first + threadIdx.x;
        if (at_once > 1 && first + turn <= chunks)
            work(layout.head + mine * kChunkBytes, blockDim.x * kChunkBytes, access,
                 Many<at_once>{});
        else
            for (std::uint64_t each = mine; each < chunks && each < first + turn;
                 each += blockDim.x)
                work(layout.head + each * kChunkBytes, 0, access, Many<1>{});
    }
}

template<std::size_t ElementBytes, class Work>
__device__ __forceinline__ void for_all(std::uint64_t bytes, ChunkLayout layout, Work &&work) {
    if (layout.width == kChunkBytes)
        for_chunks<Whole>(bytes, layout, work);
    else
        for_chunks<Narrow>(bytes, layout, work);
    if (blockIdx.x != 0) // fewer than 32 elements are left
        return;
    const std::uint64_t heads = layout.head / ElementBytes;
    const std::uint64_t tail = bytes - (bytes - layout.head) % kChunkBytes;
    const std::uint64_t singles = heads + (bytes - tail) / ElementBytes;
    if (threadIdx.x < singles)
        work(threadIdx.x < heads ? threadIdx.x * ElementBytes
                                 : tail + (threadIdx.x - heads) * ElementBytes,
             0, Single<ElementBytes>{}, Many<1>{});
}

template<class Element, class Operation>
__device__ __forceinline__ void reduce(const PassArguments &pass) {
    const auto pointer = [&](int k) { return static_cast<unsigned char *>(pass.pointers[k]); };
    for_all<Element::kBytes>(pass.bytes, pass.layout,
                             [&](std::uint64_t at, std::uint64_t stride, auto access, auto many) {
                                 constexpr unsigned count = decltype(many)::kChunks;
                                 typename Element::Held folded[count];
                                 for (unsigned c = 0; c < count; ++c)
                                     folded[c] =
                                         Element::enter(access.load(pointer(0) + at + c * stride));
                                 for (int k = 1; k < pass.ins; ++k) {
                                     Chunk operand[count];
                                     for (unsigned c = 0; c < count; ++c)
                                         operand[c] = access.load(pointer(k) + at + c * stride);
                                     for (unsigned c = 0; c < count; ++c) {
                                         combine<Operation>(folded[c], Element::enter(operand[c]));
                                         folded[c] = Element::template settle<Operation>(folded[c]);
                                     }
                                 }
                                 Chunk result[count];
                                 for (unsigned c = 0; c < count; ++c)
                                     result[c] = Element::leave(finish<Operation>(folded[c]));
                                 for (int j = pass.ins; j < pass.ins + pass.outs; ++j)
                                     for (unsigned c = 0; c < count; ++c)
                                         access.store(pointer(j) + at + c * stride, result[c]);
                             });
}

// `change(held)` is given each chunk.
template<class Element, class Change>
__device__ __forceinline__ void map(const MapArguments &map, Change &&change) {
    for_all<Element::kBytes>(
        map.bytes, map.layout, [&](std::uint64_t at, std::uint64_t stride, auto access, auto many) {
            constexpr unsigned count = decltype(many)::kChunks;
            const auto *const in = static_cast<const unsigned char *>(map.in);
            Chunk chunk[count];
            for (unsigned c = 0; c < count; ++c)
                chunk[c] = access.load(in + at + c * stride);
            for (unsigned c = 0; c < count; ++c)
                access.store(static_cast<unsigned char *>(map.out) + at + c * stride,
                             Element::leave(change(Element::enter(chunk[c]))));
        });
}

template<class Element, class Operation>
__device__ __forceinline__ void multiply(const MapArguments &arguments) {
    const auto factor = Element::enter(load_words<std::uint32_t>(arguments.factor));
    map<Element>(arguments, [&](typename Element::Held held) {
        combine<Operation>(held, factor);
        return finish<Operation>(held);
    });
}

template<class Element>
__device__ __forceinline__ void divide(const MapArguments &arguments) {
    using Lane = typename Element::Lane;
    const auto divisor = static_cast<Lane>(arguments.divisor);
    map<Element>(arguments, [&](typename Element::Held held) {
        for (std::size_t i = 0; i < held.kLanes; ++i)
            held.lane[i] = Quotient::finish(Quotient::apply(held.lane[i], divisor));
        return held;
    });
}

template<class Element>
__device__ __forceinline__ void itself(const MapArguments &arguments) {
    map<Element>(arguments, [](typename Element::Held held) { return held; });
}

} // namespace
} // namespace stretto::device
