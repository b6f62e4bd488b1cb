// SPDX-License-Identifier: BSD-3-Clause
// The operations on a pair of operands.  To add one, add an entry to the list at the end, and to
// ReduceOp in base/types.hpp.
//
// The bits of a result are the same on every instruction set:
//   integers   wrap;
//   sum, prod  are the operations of IEEE 754, folded from the left and rounded after each, in
//              float32 for 16-bit numbers, which are rounded to 16 bits at the end of the pass;
//   complex    products are (ac - bd, ad + bc), rounded after each operation.  An infinity times a
//              number may be NaN: the repair of C's Annex G is not attempted;
//   min, max   are minimum and maximum of IEEE 754-2019 (9.6): -0 < +0, and NaN if any operand is;
//   logical    operations, and all on bool, take any bit for true and give 0 or 1;
//   NaN        is always the quiet NaN that is positive and has no payload.
// Rounding and the treatment of denormals are those of the caller's floating-point environment,
// which is expected to round to nearest and to keep denormals; to 16 bits it is always to nearest.
#pragma once

#include <type_traits>
#include <utility>

#include "base/types.hpp"
#include "reduce/elements.inl"

namespace stretto::reduce {
namespace {

// The lanes of a vector V as unsigned integers.
template<class Lane, class V>
using Bits = Vector<Unsigned<sizeof(Lane)>, sizeof(V)>;

template<class V, class Lane>
V nan() {
    constexpr std::uint64_t quiet = sizeof(Lane) == 4 ? 0x7fc00000 : 0x7ff8000000000000;
    return as<V>(Bits<Lane, V>{} + static_cast<Unsigned<sizeof(Lane)>>(quiet));
}

// An operation has apply(), for vectors of a pair of operands, and finish(), which runs before a
// result is rounded or stored.

// It depends on the compiler which operand's NaN an addition passes on, so all NaN become one.
struct Arithmetic {
    template<class Lane, class V>
    static V finish(V value) {
        if constexpr (std::is_floating_point_v<Lane>)
            return value == value ? value : nan<V, Lane>();
        else
            return value;
    }
};

struct Sum : Arithmetic {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return a + b;
    }
};

struct Product : Arithmetic {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return a * b;
    }
};

struct ComplexProduct : Arithmetic {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return apply<Lane>(a, b, std::make_index_sequence<sizeof(V) / sizeof(Lane)>{});
    }

private:
    // With a + bi in lanes 0 and 1: (a, a) * (c, d) + (-b, b) * (d, c).
    template<class Lane, class V, std::size_t... I>
    static V apply(V a, V b, std::index_sequence<I...>) {
        using B = Bits<Lane, V>;
        constexpr auto sign = Unsigned<sizeof(Lane)>{1} << (8 * sizeof(Lane) - 1);
        const V real = __builtin_shufflevector(a, a, (I & ~std::size_t{1})...);
        const V imaginary = __builtin_shufflevector(a, a, (I | 1)...);
        const V turned = __builtin_shufflevector(b, b, (I ^ 1)...);
        const B minus_plus = {(I % 2 == 0 ? sign : 0)...};
        return real * b + as<V>(as<B>(imaginary * turned) ^ minus_plus);
    }
};

struct Quotient : Arithmetic {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return a / b;
    }
};

struct Selection {
    template<class Lane, class V>
    static V finish(V value) {
        return value;
    }
};

// The comparison is made both ways round.  Usually both select the same value.  There are two
// exceptions: of two zeros each is selected once, so their signs can be combined; of a NaN and a
// number each is selected once, so the selected values differ.
struct Minimum : Selection {
    template<class Lane, class V>
    static V apply(V a, V b) {
        const V one = a < b ? a : b;
        if constexpr (std::is_floating_point_v<Lane>) {
            using B = Bits<Lane, V>;
            const V other = b < a ? b : a;
            return one == other ? as<V>(as<B>(one) | as<B>(other)) : nan<V, Lane>();
        }
        return one;
    }
};

struct Maximum : Selection {
    template<class Lane, class V>
    static V apply(V a, V b) {
        const V one = a > b ? a : b;
        if constexpr (std::is_floating_point_v<Lane>) {
            using B = Bits<Lane, V>;
            const V other = b > a ? b : a;
            return one == other ? as<V>(as<B>(one) & as<B>(other)) : nan<V, Lane>();
        }
        return one;
    }
};

// Of truth values, too.
struct And : Selection {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return a & b;
    }
};
struct Or : Selection {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return a | b;
    }
};
struct Xor : Selection {
    template<class Lane, class V>
    static V apply(V a, V b) {
        return a ^ b;
    }
};

// A copy is the fold of one operand.
struct Only : Selection {
    template<class Lane, class V>
    static V apply(V a, V) {
        return a;
    }
};

// The operation of each ReduceOp, and the operation that does the same on truth values.
using Operations = std::tuple<Sum, Product, Minimum, Maximum, And, Or, Xor, And, Or, Xor>;
using OnTruth = std::tuple<void, void, And, Or, And, Or, Xor, And, Or, Xor>;
template<ReduceOp O, class List = Operations>
using OperationOf = std::tuple_element_t<static_cast<std::size_t>(O), List>;

// Applies an operation to all vectors of the held elements.
template<class Element, class Operation, class Held>
[[gnu::always_inline]] inline Held combine(Held a, Held b) {
    using Lane = typename Element::Lane;
    if constexpr (requires { a.second; })
        return {Operation::template apply<Lane>(a.first, b.first),
                Operation::template apply<Lane>(a.second, b.second)};
    else
        return Operation::template apply<Lane>(a, b);
}

template<class Element, class Operation, class Held>
[[gnu::always_inline]] inline Held finish(Held value) {
    using Lane = typename Element::Lane;
    if constexpr (requires { value.second; })
        return {Operation::template finish<Lane>(value.first),
                Operation::template finish<Lane>(value.second)};
    else
        return Operation::template finish<Lane>(value);
}

// Rounded after each pair of operands, not only at the end.
template<class Element>
struct EachRounded : Element {
    static constexpr int kHoistedOperands =
        Element::kHoistedOperands < 4 ? Element::kHoistedOperands : 4;
    template<class Operation, class Held>
    static Held settle(Held value) {
        return Element::enter(Element::leave(finish<Element, Operation>(value)));
    }
};

} // namespace
} // namespace stretto::reduce
