// SPDX-License-Identifier: BSD-3-Clause
// How elements are held while they are reduced.
//
// An element type defines its form in memory (Stored), its form in calculations (Lane), and the
// conversions of vectors between them: enter() and leave(). Some are held as two vectors, a Pair.
// settle() is applied to a result between two operands of a fold.
#pragma once

#include <type_traits>

#include "reduce/vectors.inl"

namespace stretto::reduce {
namespace {

// kHoistedOperands: passes are compiled separately for each number of operands up to this.  It is 1
// where arithmetic limits a reduction rather than memory: for elements that are short or slow to
// convert.

// Elements that lanes hold as they lie in memory.
template<class T>
struct Plain {
    using Stored = T;
    using Lane = T;
    static constexpr std::size_t kBytes = sizeof(T);
    static constexpr int kHoistedOperands = sizeof(T) < 4 ? 1 : std::is_floating_point_v<T> ? 8 : 4;
    template<class V>
    static V enter(V value) {
        return value;
    }
    template<class V>
    static V leave(V value) {
        return value;
    }
    template<class Operation, class Held>
    static Held settle(Held value) {
        return value;
    }
};

// Complex numbers: two numbers that operations must keep together.
template<class T>
struct Complex : Plain<T> {
    static constexpr std::size_t kBytes = 2 * sizeof(T);
    static constexpr int kHoistedOperands = 1;
};

// Truth values: any set bit means true.  Lanes hold all bits or none; memory gets 1 or 0.
template<std::size_t Bytes>
struct Truth : Plain<Unsigned<Bytes>> {
    static constexpr int kHoistedOperands = 1;
    template<class V>
    static V enter(V value) {
        return as<V>(value != V{});
    }
    template<class V>
    static V leave(V value) {
        return value & 1;
    }
};

template<class V>
struct Pair {
    V first, second;
};

// 16-bit floating-point numbers are held as float32, which has more than twice the digits.  So a
// sum or a product of two of them that is rounded to float32 and then to 16 bits is rounded
// correctly.
template<class Format>
struct Short {
    using Stored = std::uint16_t;
    using Lane = float;
    static constexpr std::size_t kBytes = 2;
    static constexpr int kHoistedOperands = Format::kQuick ? 8 : 1;
    template<class V>
    using Held = Pair<Vector<float, sizeof(V)>>;

    // The default: the lower and the upper half of each 32 bits.
    template<class V>
    static Held<V> enter(V value) {
        if constexpr (requires { Format::enter(value); }) {
            return Format::enter(value);
        } else {
            const auto both = as<Vector<std::uint32_t, sizeof(V)>>(value);
            return {Format::widen(both & 0xffff), Format::widen(both >> 16)};
        }
    }
    // The only NaN that operations return.
    template<class VF>
    static auto leave(Pair<VF> value) {
        using V = Vector<std::uint16_t, sizeof(VF)>;
        if constexpr (requires { Format::template leave<V>(value); })
            return Format::template leave<V>(value);
        else
            return as<V>(Format::narrow(value.first) | Format::narrow(value.second) << 16);
    }
    template<class Operation, class Held>
    static Held settle(Held value) {
        return value;
    }
};

// float32 without its lower half.  The processor's own conversion (AVX512-BF16) treats denormals as
// zeros, so it is not used.
struct Bfloat16 {
    static constexpr bool kQuick = true;

    template<class V>
    static Vector<float, sizeof(V)> widen(V bits) {
        return as<Vector<float, sizeof(V)>>(bits << 16);
    }
    template<class VF>
    static Vector<std::uint32_t, sizeof(VF)> narrow(VF value) {
        const auto bits = as<Vector<std::uint32_t, sizeof(VF)>>(value);
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16; // a tie goes to the even
    }
};

#if defined(__F16C__)
struct Float16 {
    static constexpr bool kQuick = true;

    template<class V>
    static Pair<Vector<float, sizeof(V)>> enter(V value) {
        using VF = Vector<float, sizeof(V)>;
        if constexpr (sizeof(V) == 16) {
            const auto all = as<__m128i>(value);
            return {as<VF>(_mm_cvtph_ps(all)), as<VF>(_mm_cvtph_ps(_mm_unpackhi_epi64(all, all)))};
        } else if constexpr (sizeof(V) == 32) {
            const auto all = as<__m256i>(value);
            return {as<VF>(_mm256_cvtph_ps(_mm256_castsi256_si128(all))),
                    as<VF>(_mm256_cvtph_ps(_mm256_extracti128_si256(all, 1)))};
        } else {
#if defined(__AVX512F__)
            const auto all = as<__m512i>(value);
            return {as<VF>(_mm512_cvtph_ps(_mm512_castsi512_si256(all))),
                    as<VF>(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(all, 1)))};
#endif
        }
    }
    template<class V, class VF>
    static V leave(Pair<VF> value) {
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
        if constexpr (sizeof(V) == 16)
            return as<V>(_mm_unpacklo_epi64(_mm_cvtps_ph(as<__m128>(value.first), nearest),
                                            _mm_cvtps_ph(as<__m128>(value.second), nearest)));
        else if constexpr (sizeof(V) == 32)
            return as<V>(_mm256_set_m128i(_mm256_cvtps_ph(as<__m256>(value.second), nearest),
                                          _mm256_cvtps_ph(as<__m256>(value.first), nearest)));
        else {
#if defined(__AVX512F__)
            return as<V>(_mm512_inserti64x4(
                _mm512_castsi256_si512(_mm512_cvtps_ph(as<__m512>(value.first), nearest)),
                _mm512_cvtps_ph(as<__m512>(value.second), nearest), 1));
#endif
        }
    }
};
#else
struct Float16 {
    static constexpr bool kQuick = false;

    // The formats of float32 and of float16, whose fraction is 13 bits shorter.
    static constexpr std::int32_t kBias = (127 - 15) << 23; // between the exponents
    static constexpr std::int32_t kInfinityPattern = 0x7f800000, kShortInfinityPattern = 0x7c00;

    template<class V>
    static Vector<float, sizeof(V)> widen(V bits) {
        using VF = Vector<float, sizeof(V)>;
        using VI = Vector<std::int32_t, sizeof(V)>;
        const VI value = as<VI>(bits & 0x7fff);
        const VI normal = (value << 13) + kBias;
        const VI denormal = as<VI>(__builtin_convertvector(value, VF) * 0x1p-24f);
        const VI finite = value < 0x0400 ? denormal : normal;
        const VI result = value >= kShortInfinityPattern ? normal + kBias : finite;
        return as<VF>(result | as<VI>((bits & 0x8000) << 16));
    }
    template<class VF>
    static Vector<std::uint32_t, sizeof(VF)> narrow(VF value) {
        using V = Vector<std::uint32_t, sizeof(VF)>;
        using VI = Vector<std::int32_t, sizeof(VF)>;
        constexpr std::int32_t least_normal = 113 << 23;    // 2^-14
        constexpr std::int32_t overflow = (127 + 16) << 23; // 2^16
        constexpr std::int32_t half = 126 << 23;            // 0.5, whose last bit is 2^-24
        const VI sign = as<VI>(as<V>(value) >> 16 & 0x8000);
        const VI bits = as<VI>(value) & 0x7fffffff;
        const VI normal = (bits - kBias + 0xfff + (bits >> 13 & 1)) >> 13;
        const VI denormal = as<VI>(as<VF>(bits) + 0.5f) - half;
        const VI finite = bits < least_normal ? denormal : normal;
        const VI special = bits > kInfinityPattern ? VI{} + 0x7e00 : VI{} + kShortInfinityPattern;
        return as<V>((bits >= overflow ? special : finite) | sign);
    }
};
#endif

// By Dtype.
using Elements =
    std::tuple<Plain<std::int8_t>, Plain<std::int16_t>, Plain<std::int32_t>, Plain<std::int64_t>,
               Plain<std::uint8_t>, Plain<std::uint16_t>, Plain<std::uint32_t>,
               Plain<std::uint64_t>, Short<Float16>, Short<Bfloat16>, Plain<float>, Plain<double>,
               Complex<float>, Complex<double>, Truth<1>>;
template<Dtype D>
using ElementOf = std::tuple_element_t<static_cast<std::size_t>(D), Elements>;
static_assert(std::tuple_size_v<Elements> == kDtypes);

} // namespace
} // namespace stretto::reduce
