// SPDX-License-Identifier: BSD-3-Clause
// The operations on a pair of operands, with the bits of src/reduce/operations.inl.  Compile with
// -fmad=false (-ffp-contract=off): products and sums are rounded apart.
#pragma once

#include <type_traits>

#include "device/kernels/elements.inl"

namespace stretto::device {
namespace {

template<class Lane>
using Bits = std::conditional_t<sizeof(Lane) == 4, std::uint32_t, std::uint64_t>;

// The only NaN of a result.
template<class Lane>
__device__ __forceinline__ Lane nan() {
    if constexpr (sizeof(Lane) == 4)
        return as<Lane>(std::uint32_t{0x7fc00000});
    else
        return as<Lane>(std::uint64_t{0x7ff8000000000000});
}

struct Selection {
    static constexpr bool kOfPairs = false;
    template<class Lane>
    static __device__ __forceinline__ Lane finish(Lane value) {
        return value;
    }
};

// It depends on the processor which NaN an addition gives, so all become one.
struct Arithmetic {
    static constexpr bool kOfPairs = false;
    template<class Lane>
    static __device__ __forceinline__ Lane finish(Lane value) {
        if constexpr (std::is_floating_point_v<Lane>)
            return value == value ? value : nan<Lane>();
        else
            return value;
    }
};

// Integers are unsigned, and no narrower than what wraps.
template<class Lane>
using Wide = std::conditional_t<std::is_integral_v<Lane> && sizeof(Lane) < 4, std::uint32_t, Lane>;

struct Sum : Arithmetic {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        return static_cast<Lane>(Wide<Lane>{a} + Wide<Lane>{b});
    }
};

struct Product : Arithmetic {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        return static_cast<Lane>(Wide<Lane>{a} * Wide<Lane>{b});
    }
};

struct Quotient : Arithmetic {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        return a / b;
    }
};

// (a + bi)(c + di), the real part first.
struct ComplexProduct : Arithmetic {
    static constexpr bool kOfPairs = true;
    template<class Lane>
    static __device__ __forceinline__ void apply(Lane *ab, const Lane *cd) {
        const Lane real = ab[0] * cd[0] + -(ab[1] * cd[1]);
        ab[1] = ab[0] * cd[1] + ab[1] * cd[0];
        ab[0] = real;
    }
};

// The comparison is made both ways round: of two zeros each is selected once, and of a NaN and a
// number as well.
struct Minimum : Selection {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        const Lane one = a < b ? a : b;
        if constexpr (std::is_floating_point_v<Lane>) {
            const Lane other = b < a ? b : a;
            return one == other ? as<Lane>(as<Bits<Lane>>(one) | as<Bits<Lane>>(other))
                                : nan<Lane>();
        }
        return one;
    }
};

struct Maximum : Selection {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        const Lane one = a > b ? a : b;
        if constexpr (std::is_floating_point_v<Lane>) {
            const Lane other = b > a ? b : a;
            return one == other ? as<Lane>(as<Bits<Lane>>(one) & as<Bits<Lane>>(other))
                                : nan<Lane>();
        }
        return one;
    }
};

struct And : Selection {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        return static_cast<Lane>(a & b);
    }
};
struct Or : Selection {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        return static_cast<Lane>(a | b);
    }
};
struct Xor : Selection {
    template<class Lane>
    static __device__ __forceinline__ Lane apply(Lane a, Lane b) {
        return static_cast<Lane>(a ^ b);
    }
};

template<class Operation, class Held>
__device__ __forceinline__ void combine(Held &a, const Held &b) {
    if constexpr (Operation::kOfPairs)
        for (std::size_t i = 0; i < Held::kLanes; i += 2)
            Operation::apply(a.lane + i, b.lane + i);
    else
        for (std::size_t i = 0; i < Held::kLanes; ++i)
            a.lane[i] = Operation::apply(a.lane[i], b.lane[i]);
}

template<class Operation, class Held>
__device__ __forceinline__ Held finish(const Held &value) {
    Held result;
    for (std::size_t i = 0; i < Held::kLanes; ++i)
        result.lane[i] = Operation::finish(value.lane[i]);
    return result;
}

// Rounded after each pair of operands, not only at the end.
template<class Element>
struct EachRounded : Element {
    using Held = typename Element::Held;
    template<class Operation>
    static __device__ __forceinline__ Held settle(const Held &held) {
        return Element::enter(Element::leave(finish<Operation>(held)));
    }
};

} // namespace
} // namespace stretto::device
