// SPDX-License-Identifier: BSD-3-Clause
// What is reduced (elements) and how (operations).  A further dtype or operation is a further entry
// here and in base/types.hpp.
//
// The bits of a result are defined, whatever the instruction set:
//   integers   wrap;
//   sum, prod  are IEEE 754 operations, folded from the left, rounded after each, not contracted;
//   min, max   are minimum and maximum of IEEE 754-2019 (9.6): -0 < +0, NaN if any operand is;
//   NaN        is always the quiet NaN that is positive and without payload.
// Rounding and the treatment of denormals are those of the caller's floating-point environment.
#pragma once

#include "base/types.hpp"
#include "reduce/vectors.inl"

namespace stretto::reduce {
namespace {

template<class T> struct Integer {
    using Value = T;
    static constexpr bool floating = false;
    template<class V> static V finish(V value) { return value; }
};

template<class T, Unsigned<sizeof(T)> Nan> struct Floating {
    using Value = T;
    static constexpr bool floating = true;

    template<class V> static V nan() {
        return as<V>(Vector<Unsigned<sizeof(T)>, sizeof(V)>{} + Nan);
    }
    // Once per result: operations pass NaN on, but which one they pass on differs.
    template<class V> static V finish(V value) { return value == value ? value : nan<V>(); }
};

template<Dtype> struct ElementOf;
template<> struct ElementOf<Dtype::f32> : Floating<float, 0x7fc00000> {};
template<> struct ElementOf<Dtype::f64> : Floating<double, 0x7ff8000000000000> {};
template<> struct ElementOf<Dtype::i32> : Integer<std::int32_t> {};
template<> struct ElementOf<Dtype::i64> : Integer<std::int64_t> {};

// The lanes of a vector V as unsigned integers.
template<class Element, class V>
using Bits = Vector<Unsigned<sizeof(typename Element::Value)>, sizeof(V)>;

struct Sum {
    template<class Element, class V> static V apply(V a, V b) {
        if constexpr (Element::floating)
            return a + b;
        else
            return as<V>(as<Bits<Element, V>>(a) + as<Bits<Element, V>>(b));
    }
};

struct Product {
    template<class Element, class V> static V apply(V a, V b) {
        if constexpr (Element::floating)
            return a * b;
        else
            return as<V>(as<Bits<Element, V>>(a) * as<Bits<Element, V>>(b));
    }
};

// The two selections below differ only where the operands are zeros of either sign or where one is
// NaN.  Then they are the two operands.
struct Minimum {
    template<class Element, class V> static V apply(V a, V b) {
        const V left = a < b ? a : b;
        if constexpr (!Element::floating)
            return left;
        const V right = b < a ? b : a;
        return as<V>(as<Bits<Element, V>>(left) | as<Bits<Element, V>>(right)); // NaN | x is NaN
    }
};

struct Maximum {
    template<class Element, class V> static V apply(V a, V b) {
        const V left = a > b ? a : b;
        if constexpr (!Element::floating)
            return left;
        else {
            const V right = b > a ? b : a;
            const V both = as<V>(as<Bits<Element, V>>(left) & as<Bits<Element, V>>(right));
            return (a != a) | (b != b) ? Element::template nan<V>() : both;
        }
    }
};

template<ReduceOp> struct OperationOf;
template<> struct OperationOf<ReduceOp::sum> { using type = Sum; };
template<> struct OperationOf<ReduceOp::prod> { using type = Product; };
template<> struct OperationOf<ReduceOp::min> { using type = Minimum; };
template<> struct OperationOf<ReduceOp::max> { using type = Maximum; };

} // namespace
} // namespace stretto::reduce
