// SPDX-License-Identifier: BSD-3-Clause
// How kernels hold elements while they reduce them: what src/reduce/elements.inl says of vectors,
// of the lanes of one thread.  The bits of results are the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/kernels/arguments.hpp"

namespace stretto::device {
namespace {

struct alignas(kChunkBytes) Chunk {
    std::uint32_t words[4];
};

template<class T, std::size_t Count>
struct Lanes {
    T lane[Count];
    static constexpr std::size_t kLanes = Count;
};

// The same bits as another type of the same size.
template<class To, class From>
__device__ __forceinline__ To as(From from) {
    return __builtin_bit_cast(To, from);
}

// f(lane) for each lane.
template<class To, class From, std::size_t Count, class Function>
__device__ __forceinline__ Lanes<To, Count> each_lane(const Lanes<From, Count> &from,
                                                      Function &&function) {
    Lanes<To, Count> to;
    for (std::size_t i = 0; i < Count; ++i)
        to.lane[i] = function(from.lane[i]);
    return to;
}

// An element has the size of what is never cut (kBytes), the form of a chunk in calculations (Held)
// and the conversions between them.  settle() is applied to a result between two operands.

template<class T, std::size_t Bytes = sizeof(T)>
struct Plain {
    using Lane = T;
    using Held = Lanes<T, kChunkBytes / sizeof(T)>;
    static constexpr std::size_t kBytes = Bytes;
    static __device__ __forceinline__ Held enter(Chunk chunk) { return as<Held>(chunk); }
    static __device__ __forceinline__ Chunk leave(const Held &held) { return as<Chunk>(held); }
    template<class Operation>
    static __device__ __forceinline__ Held settle(const Held &held) {
        return held;
    }
};

// Truth values: any set bit means true.  Lanes hold all bits or none; memory gets 1 or 0.
template<class T>
struct Truth : Plain<T> {
    using Held = typename Plain<T>::Held;
    static __device__ __forceinline__ Held enter(Chunk chunk) {
        return each_lane<T>(as<Held>(chunk),
                            [](T value) { return static_cast<T>(value != 0 ? ~T{0} : T{0}); });
    }
    static __device__ __forceinline__ Chunk leave(const Held &held) {
        return as<Chunk>(each_lane<T>(held, [](T value) { return static_cast<T>(value & 1); }));
    }
};

// 16-bit floating-point numbers are held as float32.
template<class Format>
struct Short {
    using Lane = float;
    using Stored = Lanes<std::uint16_t, 8>;
    using Held = Lanes<float, 8>;
    static constexpr std::size_t kBytes = 2;
    static __device__ __forceinline__ Held enter(Chunk chunk) {
        return each_lane<float>(as<Stored>(chunk),
                                [](std::uint16_t bits) { return Format::widen(bits); });
    }
    static __device__ __forceinline__ Chunk leave(const Held &held) {
        return as<Chunk>(
            each_lane<std::uint16_t>(held, [](float value) { return Format::narrow(value); }));
    }
    template<class Operation>
    static __device__ __forceinline__ Held settle(const Held &held) {
        return held;
    }
};

struct Bfloat16 {
    static __device__ __forceinline__ float widen(std::uint16_t bits) {
        return as<float>(std::uint32_t{bits} << 16);
    }
    static __device__ __forceinline__ std::uint16_t narrow(float value) {
        const auto bits = as<std::uint32_t>(value);
        return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
};

// A device converts by itself; its only NaN differs from ours.  The other way is that of
// src/reduce, for the tests.
struct Float16 {
#if defined(__CUDA_ARCH__)
    static __device__ __forceinline__ float widen(std::uint16_t bits) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
    static __device__ __forceinline__ std::uint16_t narrow(float value) {
        std::uint16_t bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
        return value == value ? bits : std::uint16_t{0x7e00};
    }
#else
    static constexpr std::uint32_t kBias = (127 - 15) << 23; // between the exponents

    static float widen(std::uint16_t half) {
        const std::uint32_t value = half & 0x7fffu, sign = (half & 0x8000u) << 16;
        const std::uint32_t normal = (value << 13) + kBias;
        const std::uint32_t finite =
            value < 0x0400 ? as<std::uint32_t>(static_cast<float>(value) * 0x1p-24f) : normal;
        return as<float>((value >= 0x7c00 ? normal + kBias : finite) | sign);
    }
    static std::uint16_t narrow(float value) {
        constexpr std::uint32_t least_normal = 113u << 23; // 2^-14
        constexpr std::uint32_t overflow = (127u + 16) << 23;
        constexpr std::uint32_t half = 126u << 23; // 0.5, whose last bit is 2^-24
        const auto all = as<std::uint32_t>(value);
        const std::uint32_t sign = all >> 16 & 0x8000, bits = all & 0x7fffffff;
        const std::uint32_t normal = (bits - kBias + 0xfff + (bits >> 13 & 1)) >> 13;
        const std::uint32_t denormal = as<std::uint32_t>(as<float>(bits) + 0.5f) - half;
        const std::uint32_t special = bits > 0x7f800000 ? 0x7e00 : 0x7c00;
        return static_cast<std::uint16_t>((bits >= overflow      ? special
                                           : bits < least_normal ? denormal
                                                                 : normal) |
                                          sign);
    }
#endif
};

} // namespace
} // namespace stretto::device
