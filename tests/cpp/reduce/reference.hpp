// SPDX-License-Identifier: BSD-3-Clause
// What a pass must give, bit for bit: one element at a time, from the definitions.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "reduce/kernels.hpp"
#include "support/dtypes.hpp"

namespace stretto::test {

using ::test::Bfloat16;
using ::test::Bool;
using ::test::dtype_of;
using ::test::Float16;
using ::test::kComplex;
using ::test::kInteger;
using ::test::kShort;
using ::test::with_type;

constexpr reduce::Isa kIsas[] = {reduce::Isa::baseline, reduce::Isa::avx2, reduce::Isa::avx512};

inline std::vector<reduce::Isa> available_isas() {
    std::vector<reduce::Isa> isas;
    for (const auto isa : kIsas)
        if (reduce::available(isa))
            isas.push_back(isa);
    return isas;
}

inline std::vector<ReduceOp> ops_of(Dtype dtype) { // that have a kernel
    std::vector<ReduceOp> ops;
    for (int op = 0; op < kBuiltInOps; ++op)
        if (supports(dtype, static_cast<ReduceOp>(op)))
            ops.push_back(static_cast<ReduceOp>(op));
    return ops;
}

template<class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template<class T>
BitsOf<T> bits(T value) {
    return std::bit_cast<BitsOf<T>>(value);
}

// The one NaN that a reduction gives: positive, quiet, without payload.
template<class T>
T the_nan() {
    if constexpr (kShort<T>)
        return T::from_bits(T::kNan);
    else if constexpr (sizeof(T) == 4)
        return std::bit_cast<T>(0x7fc00000u);
    else
        return std::bit_cast<T>(std::uint64_t{0x7ff8000000000000});
}

// What operands are while they are reduced.
template<class T>
using Held = std::conditional_t<kShort<T>, float, T>;

template<class T>
Held<T> held(T value) {
    if constexpr (kShort<T>)
        return static_cast<float>(static_cast<double>(value));
    else
        return value;
}

template<class T>
T given(Held<T> value) {
    if constexpr (kShort<T>)
        return std::isnan(value) ? the_nan<T>() : T(value);
    else
        return value;
}

template<class T>
T apply(ReduceOp op, T a, T b);

template<class T>
T apply_integer(ReduceOp op, T a, T b) {
    using U = std::make_unsigned_t<T>;
    const auto x = static_cast<std::uint64_t>(static_cast<U>(a));
    const auto y = static_cast<std::uint64_t>(static_cast<U>(b));
    switch (op) {
    case ReduceOp::sum: return static_cast<T>(x + y);
    case ReduceOp::prod: return static_cast<T>(x * y);
    case ReduceOp::min: return b < a ? b : a;
    case ReduceOp::max: return b > a ? b : a;
    case ReduceOp::band: return static_cast<T>(x & y);
    case ReduceOp::bor: return static_cast<T>(x | y);
    case ReduceOp::bxor: return static_cast<T>(x ^ y);
    case ReduceOp::land: return a != 0 && b != 0;
    case ReduceOp::lor: return a != 0 || b != 0;
    case ReduceOp::lxor: return (a != 0) != (b != 0);
    default: return T{};
    }
}

template<class T>
T apply_floating(ReduceOp op, T a, T b) {
    if (std::isnan(a) || std::isnan(b))
        return the_nan<T>();
    const T first_if_equal = std::signbit(a) ? a : b; // -0 before +0
    const T last_if_equal = std::signbit(a) ? b : a;
    T result{};
    switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: result = a + b; break;
    case ReduceOp::prod: result = a * b; break;
    case ReduceOp::min: return a == b ? first_if_equal : a < b ? a : b;
    case ReduceOp::max: return a == b ? last_if_equal : a < b ? b : a;
    default: break;
    }
    return std::isnan(result) ? the_nan<T>() : result;
}

template<class T>
std::complex<T> apply_complex(ReduceOp op, std::complex<T> a, std::complex<T> b) {
    const auto add = [](T x, T y) { return apply_floating(ReduceOp::sum, x, y); };
    const auto times = [](T x, T y) { return apply_floating(ReduceOp::prod, x, y); };
    if (op != ReduceOp::prod)
        return {add(a.real(), b.real()), add(a.imag(), b.imag())};
    return {add(times(a.real(), b.real()), -times(a.imag(), b.imag())),
            add(times(a.real(), b.imag()), times(a.imag(), b.real()))};
}

inline Bool apply_truth(ReduceOp op, Bool x, Bool y) {
    const bool a(x), b(y);
    switch (op) {
    case ReduceOp::min:
    case ReduceOp::band:
    case ReduceOp::land: return Bool(a && b);
    case ReduceOp::bxor:
    case ReduceOp::lxor: return Bool(a != b);
    default: return Bool(a || b);
    }
}

template<class T>
T apply(ReduceOp op, T a, T b) {
    if constexpr (std::is_same_v<T, Bool>)
        return apply_truth(op, a, b);
    else if constexpr (kInteger<T>)
        return apply_integer(op, a, b);
    else if constexpr (kComplex<T>)
        return apply_complex(op, a, b);
    else
        return apply_floating(op, a, b);
}

// Of operand after operand.
template<class T>
class Fold {
public:
    Fold(ReduceOp op, reduce::Rounding rounding) : op_(op), rounding_(rounding) {}
    void add(T operand) {
        value_ = empty_ ? held(operand) : apply(op_, value_, held(operand));
        if (!empty_ && rounding_ == reduce::Rounding::each)
            value_ = held(given<T>(value_));
        if (empty_)
            first_ = operand;
        else
            folded_ = true;
        empty_ = false;
    }
    T result() const { return folded_ ? given<T>(value_) : first_; } // one operand is copied

private:
    const ReduceOp op_;
    const reduce::Rounding rounding_;
    Held<T> value_{};
    T first_{};
    bool empty_ = true, folded_ = false;
};

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
    if constexpr (std::is_same_v<T, Bool>) {
        return {std::bit_cast<Bool>(std::uint8_t{0}), std::bit_cast<Bool>(std::uint8_t{1}),
                std::bit_cast<Bool>(std::uint8_t{2}), std::bit_cast<Bool>(std::uint8_t{128}),
                std::bit_cast<Bool>(std::uint8_t{255})};
    } else if constexpr (kInteger<T>) {
        return {T(0),
                T(1),
                T(-1),
                T(2),
                Limits::min(),
                Limits::max(),
                T(Limits::min() + 1),
                T(Limits::max() / 2 + 1)};
    } else if constexpr (kShort<T>) {
        std::vector<T> values;
        for (const unsigned sign : {0u, 0x8000u})
            for (const unsigned magnitude :
                 {0u, 1u, 2u, 0x7fu, 0x80u, 0x81u, 0x3ffu, 0x400u, 0x401u, 0x3c00u, 0x3c01u,
                  0x3f80u, T::kInfinity - 1u, unsigned{T::kInfinity}, T::kInfinity + 1u,
                  unsigned{T::kNan}, T::kNan + 5u, 0x7fffu})
                values.push_back(T::from_bits(sign | magnitude));
        return values;
    } else if constexpr (kComplex<T>) {
        using Part = typename T::value_type;
        std::vector<T> values;
        const auto parts = special_values<Part>();
        for (std::size_t k = 0; k < 4 * parts.size(); ++k)
            values.push_back({parts[k % parts.size()], parts[scramble(k, 7) % parts.size()]});
        return values;
    } else {
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

// Floating-point values are of many magnitudes, so that the order of a fold shows.
template<class T>
T ordinary(std::uint64_t random) {
    if constexpr (std::is_same_v<T, Bool>) {
        const auto byte = static_cast<std::uint8_t>(random);
        return std::bit_cast<Bool>(static_cast<std::uint8_t>(random >> 63 != 0 ? byte : 0));
    } else if constexpr (kInteger<T>) {
        return static_cast<T>(random >> 62 == 0 ? 0 : random);
    } else if constexpr (kComplex<T>) {
        using Part = typename T::value_type;
        return {ordinary<Part>(random), ordinary<Part>(scramble(random, 3))};
    } else if constexpr (kShort<T>) {
        return T(ordinary<double>(random));
    } else {
        const T mantissa = T(1) + static_cast<T>(random % 4096) / T(4096);
        const int exponent = static_cast<int>((random >> 12) % 12) - 6;
        return std::ldexp((random >> 63) != 0 ? -mantissa : mantissa, exponent);
    }
}

// Element i of operand k of n.  In one element of four up to two operands are special.
template<class T>
T element(std::size_t i, int k, int n) {
    static const std::vector<T> special = special_values<T>();
    const std::uint64_t random = scramble(i, static_cast<std::uint64_t>(k));
    const std::uint64_t chosen = scramble(i, 1000);
    const auto mine = static_cast<std::uint64_t>(k), all = static_cast<std::uint64_t>(n);
    if (i % 4 == 0 && (mine == chosen % all || mine == (chosen >> 32) % all))
        return special[random % special.size()];
    return ordinary<T>(random);
}

template<class T>
std::vector<std::byte> bytes_of(const std::vector<T> &values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty())
        std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

} // namespace stretto::test
