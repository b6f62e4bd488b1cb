// SPDX-License-Identifier: BSD-3-Clause
// Vectors of any width, and how they reach memory.
//
// Everything here and in the other .inl files has internal linkage: they are compiled once for each
// instruction set, and the linker must not take one's code for another's.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stretto::reduce {
namespace {

constexpr std::size_t kLineBytes = 64;                     // bytes of a cache line
constexpr std::size_t kVectorBytes = STRETTO_VECTOR_BYTES; // bytes of the widest vector
constexpr std::size_t kLeastVectorBytes = 16; // every processor with vectors has this width

template<class T, std::size_t Bytes>
struct VectorOf {
    typedef T type __attribute__((vector_size(Bytes)));
};
template<class T, std::size_t Bytes>
using Vector = typename VectorOf<T, Bytes>::type;

template<std::size_t Bytes>
using Unsigned =
    std::tuple_element_t<static_cast<std::size_t>(std::bit_width(Bytes) - 1),
                         std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;

// The same bits as another type of the same size.
template<class To, class From>
[[gnu::always_inline]] inline To as(From from) {
    return __builtin_bit_cast(To, from);
}

// `Bytes` bytes from any address into the first lanes of V, the others zero.
template<class V, std::size_t Bytes>
[[gnu::always_inline]] inline V load(const std::byte *from) {
    if constexpr (Bytes == sizeof(V)) {
        V value;
        __builtin_memcpy(&value, from, Bytes);
        return value;
    } else {
        Unsigned<Bytes> part;
        __builtin_memcpy(&part, from, Bytes);
        return as<V>(Vector<Unsigned<Bytes>, sizeof(V)>{part});
    }
}

// The first `Bytes` bytes of a vector, to any address.
template<std::size_t Bytes, class V>
[[gnu::always_inline]] inline void store(std::byte *to, V value) {
    if constexpr (Bytes == sizeof(V)) {
        __builtin_memcpy(to, &value, Bytes);
    } else {
        const Unsigned<Bytes> part = as<Vector<Unsigned<Bytes>, sizeof(V)>>(value)[0];
        __builtin_memcpy(to, &part, Bytes);
    }
}

// Stores a vector to an address that is a multiple of its size, past the caches if the instruction
// set can.
template<class V>
[[gnu::always_inline]] inline void stream(std::byte *to, V value) {
#if defined(__x86_64__)
    if constexpr (sizeof(V) == 64)
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to), as<__m512i>(value));
    else if constexpr (sizeof(V) == 32)
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to), as<__m256i>(value));
    else
        _mm_stream_si128(reinterpret_cast<__m128i *>(to), as<__m128i>(value));
#else
    store<sizeof(V)>(to, value);
#endif
}

// Streamed stores become visible before any later store.
inline void stream_fence() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

} // namespace
} // namespace stretto::reduce
