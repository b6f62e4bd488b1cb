// SPDX-License-Identifier: BSD-3-Clause
// Numbers whose sums round, so that every bracketing of them has bits of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/stretto.h"

namespace test {

inline std::uint64_t scrambled(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A type of elements, and how many of its bits are the exponent (the lowest ones the mantissa).
template<class Bits, stretto_dtype dtype_, int exponent_bits>
struct Rounded {
    using Element = Bits;
    static constexpr stretto_dtype dtype = dtype_;
    static constexpr int exponent = exponent_bits;
    static constexpr int mantissa = static_cast<int>(8 * sizeof(Bits)) - 1 - exponent_bits;
};
using RoundedFloat16 = Rounded<std::uint16_t, STRETTO_FLOAT16, 5>;
using RoundedBfloat16 = Rounded<std::uint16_t, STRETTO_BFLOAT16, 8>;
using RoundedFloat32 = Rounded<std::uint32_t, STRETTO_FLOAT32, 8>;
using RoundedFloat64 = Rounded<std::uint64_t, STRETTO_FLOAT64, 11>;

// A number as its bits: of both signs and of seven sizes around one, so that every bracketing
// rounds in its own way.
template<class T>
typename T::Element value(int rank, std::size_t index) {
    const std::uint64_t random =
        scrambled(static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15u + index + 1);
    const std::uint64_t sign = random >> 63 << (T::mantissa + T::exponent);
    const std::uint64_t one = (std::uint64_t{1} << (T::exponent - 1)) - 1; // the exponent of 1
    const std::uint64_t size = (one - 3 + random % 7) << T::mantissa;
    const std::uint64_t digits = random >> 3 & ((std::uint64_t{1} << T::mantissa) - 1);
    return static_cast<typename T::Element>(sign | size | digits);
}

} // namespace test
