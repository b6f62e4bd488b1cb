// SPDX-License-Identifier: BSD-3-Clause
// A C++ type for each element type.  16-bit floating-point numbers and truth values are their bits,
// with conversions that are slow and written from the definitions.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/types.hpp"

namespace test {

using stretto::Dtype;

// `Fraction` bits behind the point; `Exponent` bits of exponent.
template<int Exponent, int Fraction>
struct Short {
    static constexpr int kLeast = 2 - (1 << (Exponent - 1)); // exponent of the least normal number
    static constexpr std::uint16_t kInfinity = ((1 << Exponent) - 1) << Fraction;
    static constexpr std::uint16_t kNan = kInfinity | 1 << (Fraction - 1);

    std::uint16_t bits = 0;

    Short() = default;
    explicit Short(double value) : bits(rounded(value)) {}
    static Short from_bits(unsigned bits) {
        Short result;
        result.bits = static_cast<std::uint16_t>(bits);
        return result;
    }

    explicit operator double() const {
        const int exponent = (bits & kInfinity) >> Fraction;
        const int fraction = bits & ((1 << Fraction) - 1);
        double value = exponent == 0 ? std::ldexp(fraction, kLeast - Fraction)
                                     : std::ldexp(fraction + (1 << Fraction),
                                                  kLeast - Fraction + exponent - 1);
        if ((bits & kInfinity) == kInfinity)
            value = fraction == 0 ? std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::quiet_NaN();
        return (bits & 0x8000) != 0 ? -value : value;
    }
    bool operator==(const Short &) const = default; // of bits

private:
    // To nearest, a tie to the even.
    static std::uint16_t rounded(double value) {
        const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
        if (std::isnan(value))
            return kNan;
        if (std::isinf(value))
            return sign | kInfinity;
        int exponent = value == 0 ? kLeast : std::max(std::ilogb(value), kLeast);
        // In units of the last bit; up to 2^(Fraction + 1), which is the next exponent's first.
        const double units = std::nearbyint(std::ldexp(std::fabs(value), Fraction - exponent));
        const double all =
            units + std::ldexp(exponent - kLeast, Fraction); // exponents are adjacent
        return static_cast<std::uint16_t>(
            sign | static_cast<std::uint16_t>(std::min(all, double{kInfinity})));
    }
};
using Float16 = Short<5, 10>;
using Bfloat16 = Short<8, 7>;

struct Bool {
    std::uint8_t byte = 0;
    Bool() = default;
    explicit Bool(bool value) : byte(value) {}
    static Bool of(std::uint8_t byte) {
        Bool result;
        result.byte = byte;
        return result;
    }
    explicit operator bool() const { return byte != 0; }
    bool operator==(const Bool &) const = default; // of bits
};

template<class T>
constexpr bool kShort = false;
template<int Exponent, int Fraction>
constexpr bool kShort<Short<Exponent, Fraction>> = true;
template<class T>
constexpr bool kComplex = false;
template<class T>
constexpr bool kComplex<std::complex<T>> = true;
template<class T>
constexpr bool kInteger = std::is_integral_v<T>;

// body(T{}) for the C++ type T of an element type.
template<class Body>
auto with_type(Dtype dtype, Body &&body) {
    switch (dtype) {
    case Dtype::i8: return body(std::int8_t{});
    case Dtype::i16: return body(std::int16_t{});
    case Dtype::i32: return body(std::int32_t{});
    case Dtype::i64: return body(std::int64_t{});
    case Dtype::u8: return body(std::uint8_t{});
    case Dtype::u16: return body(std::uint16_t{});
    case Dtype::u32: return body(std::uint32_t{});
    case Dtype::u64: return body(std::uint64_t{});
    case Dtype::f16: return body(Float16{});
    case Dtype::bf16: return body(Bfloat16{});
    case Dtype::f32: return body(float{});
    case Dtype::f64: return body(double{});
    case Dtype::c64: return body(std::complex<float>{});
    case Dtype::c128: return body(std::complex<double>{});
    case Dtype::boolean: break;
    }
    return body(Bool{});
}

template<class T>
Dtype dtype_of() {
    for (int d = 0; d < stretto::kDtypes; ++d)
        if (with_type(static_cast<Dtype>(d),
                      []<class U>(U) { return std::is_same_v<std::remove_cv_t<U>, T>; }))
            return static_cast<Dtype>(d);
    return Dtype::i8;
}

template<class T>
std::string shown(T value) {
    if constexpr (kComplex<T>)
        return shown(value.real()) + (value.imag() < 0 ? "" : "+") + shown(value.imag()) + "i";
    else if constexpr (kShort<T>)
        return shown(static_cast<double>(value));
    else if constexpr (std::is_same_v<T, Bool>)
        return std::to_string(value.byte);
    else
        return std::to_string(value);
}

} // namespace test
