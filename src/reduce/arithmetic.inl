// SPDX-License-Identifier: BSD-3-Clause
// What is reduced (elements) and how (operations).  A further dtype or operation is a further entry
// of a list here and in base/types.hpp.
//
// The bits of a result are defined, whatever the instruction set:
//   integers   wrap;
//   sum, prod  are the operations of IEEE 754, folded from the left and rounded after each;
//   min, max   are minimum and maximum of IEEE 754-2019 (9.6): -0 < +0, and NaN if any operand is;
//   NaN        is always the quiet NaN that is positive and has no payload.
// Rounding and the treatment of denormals are those of the caller's floating-point environment.
#pragma once

#include "base/types.hpp"
#include "reduce/vectors.inl"

namespace stretto::reduce {
namespace {

template<class T>
struct Integer {
    using Value = T;
    static constexpr bool floating = false;
    template<class V>
    static V one_nan(V value) {
        return value;
    }
};

template<class T, Unsigned<sizeof(T)> Nan>
struct Floating {
    using Value = T;
    static constexpr bool floating = true;
    template<class V>
    static V nan() {
        return as<V>(Vector<Unsigned<sizeof(T)>, sizeof(V)>{} + Nan);
    }
    template<class V>
    static V one_nan(V value) {
        return value == value ? value : nan<V>();
    }
};

// By Dtype.
using Elements = std::tuple<Floating<float, 0x7fc00000>, Floating<double, 0x7ff8000000000000>,
                            Integer<std::int32_t>, Integer<std::int64_t>>;

// The lanes of a vector V as unsigned integers.
template<class Element, class V>
using Bits = Vector<Unsigned<sizeof(typename Element::Value)>, sizeof(V)>;

// An operation has apply(), for a pair of operands, and finish(), once per result.

// Which operand's NaN an addition passes on depends on how it was compiled, so all become one.
struct Arithmetic {
    template<class Element, class V>
    static V finish(V value) {
        return Element::one_nan(value);
    }
};

struct Sum : Arithmetic {
    template<class Element, class V>
    static V apply(V a, V b) {
        if constexpr (Element::floating)
            return a + b;
        else
            return as<V>(as<Bits<Element, V>>(a) + as<Bits<Element, V>>(b));
    }
};

struct Product : Arithmetic {
    template<class Element, class V>
    static V apply(V a, V b) {
        if constexpr (Element::floating)
            return a * b;
        else
            return as<V>(as<Bits<Element, V>>(a) * as<Bits<Element, V>>(b));
    }
};

struct Selection {
    template<class Element, class V>
    static V finish(V value) {
        return value;
    }
};

// Asked both ways round, the comparison selects the same value twice, with two exceptions: of zeros
// it selects either, so that their signs can be combined; of NaN and a number it selects either, so
// that the selected differ.
struct Minimum : Selection {
    template<class Element, class V>
    static V apply(V a, V b) {
        const V one = a < b ? a : b;
        if constexpr (Element::floating) {
            using B = Bits<Element, V>;
            const V other = b < a ? b : a;
            return one == other ? as<V>(as<B>(one) | as<B>(other)) : Element::template nan<V>();
        }
        return one;
    }
};

struct Maximum : Selection {
    template<class Element, class V>
    static V apply(V a, V b) {
        const V one = a > b ? a : b;
        if constexpr (Element::floating) {
            using B = Bits<Element, V>;
            const V other = b > a ? b : a;
            return one == other ? as<V>(as<B>(one) & as<B>(other)) : Element::template nan<V>();
        }
        return one;
    }
};

// By ReduceOp.
using Operations = std::tuple<Sum, Product, Minimum, Maximum>;

static_assert(std::tuple_size_v<Elements> == kDtypes);
static_assert(std::tuple_size_v<Operations> == kReduceOps);

// A copy is the fold of one operand: bytes, and no operation.
using Byte = Integer<std::uint8_t>;
struct Only {
    template<class Element, class V>
    static V apply(V a, V) {
        return a;
    }
    template<class Element, class V>
    static V finish(V value) {
        return value;
    }
};

} // namespace
} // namespace stretto::reduce
