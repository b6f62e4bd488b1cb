// SPDX-License-Identifier: BSD-3-Clause
// What a pass must give, bit for bit: one element at a time, from the definitions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "reduce/kernels.hpp"

namespace stretto::test {

constexpr reduce::Isa kIsas[] = {reduce::Isa::baseline, reduce::Isa::avx2, reduce::Isa::avx512};

inline std::vector<reduce::Isa> available_isas() {
    std::vector<reduce::Isa> isas;
    for (const auto isa : kIsas)
        if (reduce::available(isa))
            isas.push_back(isa);
    return isas;
}

template<class T>
constexpr Dtype kDtypeOf = Dtype::f32;
template<>
constexpr Dtype kDtypeOf<double> = Dtype::f64;
template<>
constexpr Dtype kDtypeOf<std::int32_t> = Dtype::i32;
template<>
constexpr Dtype kDtypeOf<std::int64_t> = Dtype::i64;

template<class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template<class T>
BitsOf<T> bits(T value) {
    return std::bit_cast<BitsOf<T>>(value);
}

// The one NaN that a reduction gives: positive, quiet, without payload.
template<class T>
T the_nan() {
    if constexpr (sizeof(T) == 4)
        return std::bit_cast<T>(0x7fc00000u);
    else
        return std::bit_cast<T>(std::uint64_t{0x7ff8000000000000});
}

template<class T>
T apply(ReduceOp op, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        T result;
        switch (op) {
        case ReduceOp::sum: (void)__builtin_add_overflow(a, b, &result); return result;
        case ReduceOp::prod: (void)__builtin_mul_overflow(a, b, &result); return result;
        case ReduceOp::min: return b < a ? b : a;
        case ReduceOp::max: return b > a ? b : a;
        }
    } else {
        if (std::isnan(a) || std::isnan(b))
            return the_nan<T>();
        const T first_if_equal = std::signbit(a) ? a : b; // -0 before +0
        const T last_if_equal = std::signbit(a) ? b : a;
        T result{};
        switch (op) {
        case ReduceOp::sum: result = a + b; break;
        case ReduceOp::prod: result = a * b; break;
        case ReduceOp::min: return a == b ? first_if_equal : a < b ? a : b;
        case ReduceOp::max: return a == b ? last_if_equal : a < b ? b : a;
        }
        return std::isnan(result) ? the_nan<T>() : result;
    }
    return T{};
}

// Any numbers, but the same everywhere: depends on both arguments (splitmix64).
inline std::uint64_t scramble(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15 + b + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

template<class T>
std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>)
        return {
            0, 1, -1, 2, Limits::min(), Limits::max(), Limits::min() + 1, Limits::max() / 2 + 1};
    else {
        const auto payload = [](BitsOf<T> more) {
            return std::bit_cast<T>(bits(the_nan<T>()) + more);
        };
        return {T(0),
                -T(0),
                T(1),
                -T(1),
                Limits::infinity(),
                -Limits::infinity(),
                Limits::max(),
                -Limits::max(),
                Limits::min(),
                -Limits::min(),
                Limits::denorm_min(),
                -Limits::denorm_min(),
                Limits::min() - Limits::denorm_min(),
                Limits::epsilon(),
                Limits::quiet_NaN(),
                -Limits::quiet_NaN(),
                Limits::signaling_NaN(),
                payload(12345)};
    }
}

// Element i of operand k of n.  In one element of four up to two operands are special; in the
// others floating-point values are of many magnitudes, so that the order of a fold shows.
template<class T>
T element(std::size_t i, int k, int n) {
    static const std::vector<T> special = special_values<T>();
    const std::uint64_t random = scramble(i, static_cast<std::uint64_t>(k));
    const std::uint64_t chosen = scramble(i, 1000);
    const auto mine = static_cast<std::uint64_t>(k), all = static_cast<std::uint64_t>(n);
    if (i % 4 == 0 && (mine == chosen % all || mine == (chosen >> 32) % all))
        return special[random % special.size()];
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(random);
    else {
        const T mantissa = T(1) + static_cast<T>(random % 4096) / T(4096);
        const int exponent = static_cast<int>((random >> 12) % 12) - 6;
        return std::ldexp((random >> 63) != 0 ? -mantissa : mantissa, exponent);
    }
}

} // namespace stretto::test
