// SPDX-License-Identifier: BSD-3-Clause
// The maps: each element by itself, with a constant.
#pragma once

#include <type_traits>

#include "reduce/kernels.hpp"
#include "reduce/operations.inl"

namespace stretto::reduce {
namespace {

// `Element::kBytes` bytes, repeated.
template<class Element, class V>
V repeated(const std::byte *constant) {
    using Stored = typename Element::Stored;
    Stored part[Element::kBytes / sizeof(Stored)];
    __builtin_memcpy(part, constant, sizeof(part));
    V value = V{} + part[0];
    if constexpr (Element::kBytes > sizeof(Stored))
        for (std::size_t lane = 1; lane < sizeof(V) / sizeof(Stored); lane += 2)
            value[lane] = part[1];
    return value;
}

// By a factor of the element's own type.
template<class Element, class Operation>
struct ByElement {
    explicit ByElement(const void *constant) {
        __builtin_memcpy(constant_, constant, sizeof(constant_));
    }
    template<class V>
    V operator()(V value) const {
        return Element::leave(finish<Element, Operation>(combine<Element, Operation>(
            Element::enter(value), Element::enter(repeated<Element, V>(constant_)))));
    }

private:
    std::byte constant_[Element::kBytes];
};

// By a double: the lanes may hold it more precisely than 16 bits would.
template<class Element, class Operation>
struct ByDouble {
    using Lane = typename Element::Lane;
    explicit ByDouble(const void *constant)
        : constant_(static_cast<Lane>(*static_cast<const double *>(constant))) {}
    template<class V>
    V operator()(V value) const {
        auto held = Element::enter(value);
        if constexpr (requires { held.second; })
            held = apply(held, {same(held.first), same(held.second)});
        else
            held = apply(held, same(held));
        return Element::leave(held);
    }

private:
    template<class V>
    V same(V) const {
        return V{} + constant_;
    }
    template<class Held>
    static Held apply(Held value, Held by) {
        return finish<Element, Operation>(combine<Element, Operation>(value, by));
    }
    Lane constant_;
};

template<class Element>
struct Itself {
    explicit Itself(const void *) {}
    template<class V>
    V operator()(V value) const {
        return Element::leave(Element::enter(value));
    }
};

template<std::size_t Bytes, class Element, class Function>
[[gnu::always_inline]] inline void map_vector(std::byte *out, const std::byte *in,
                                              const Function &function) {
    using V =
        Vector<typename Element::Stored, (Bytes < kLeastVectorBytes ? kLeastVectorBytes : Bytes)>;
    store<Bytes>(out, function(load<V, Bytes>(in)));
}

// Fewer than 2 * Bytes bytes: 13 elements of 4 bytes are [0, 32), [32, 48) and [48, 52).
template<std::size_t Bytes, class Element, class Function>
[[gnu::always_inline]] inline void map_rest(std::byte *out, const std::byte *in, std::size_t size,
                                            const Function &function) {
    if constexpr (Bytes >= Element::kBytes) {
        const std::size_t here = size & Bytes;
        if (here != 0)
            map_vector<Bytes, Element>(out, in, function);
        map_rest<Bytes / 2, Element>(out + here, in + here, size, function);
    }
}

template<class Element, class Function>
void map_all(void *out, const void *in, std::size_t count, const void *constant) {
    const Function function(constant);
    auto *to = static_cast<std::byte *>(out);
    const auto *from = static_cast<const std::byte *>(in);
    const std::size_t size = count * Element::kBytes;
    std::size_t at = 0;
    for (; size - at >= kVectorBytes; at += kVectorBytes)
        map_vector<kVectorBytes, Element>(to + at, from + at, function);
    map_rest<kVectorBytes / 2, Element>(to + at, from + at, size, function);
}

template<Dtype D>
constexpr Map multiply_for() {
    using Element = ElementOf<D>;
    if constexpr (!supports(D, ReduceOp::premul_sum))
        return nullptr;
    else if constexpr (family(D) == Family::integer) {
        using Lanes = Plain<Unsigned<size_of(D)>>;
        return &map_all<Lanes, ByElement<Lanes, Product>>;
    } else if constexpr (family(D) == Family::complex)
        return &map_all<Element, ByElement<Element, ComplexProduct>>;
    else
        return &map_all<Element, ByElement<Element, Product>>;
}

template<Dtype D>
constexpr Map divide_for() {
    using Element = ElementOf<D>;
    if constexpr (supports(D, ReduceOp::avg))
        return &map_all<Element, ByDouble<Element, Quotient>>;
    else
        return nullptr;
}

template<Dtype D>
constexpr Map truth_for() {
    using Element = Truth<size_of(D)>;
    if constexpr (gives_truth(D, ReduceOp::land) && supports(D, ReduceOp::land))
        return &map_all<Element, Itself<Element>>;
    else
        return nullptr;
}

} // namespace
} // namespace stretto::reduce
