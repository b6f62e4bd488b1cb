// SPDX-License-Identifier: BSD-3-Clause
// Data whose reduction is known exactly: it depends on rank and index, and no order of summation or
// rounding can change the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/stretto.h"
#include "support/dtypes.hpp"

namespace test {

// Every type with every built-in operation that it has.
struct Pair {
    stretto_dtype dtype;
    stretto_op op;
};
inline const std::vector<Pair> &pairs() {
    static const std::vector<Pair> all = [] {
        std::vector<Pair> found;
        for (int op = 0; op < stretto::kBuiltInOps; ++op)
            for (int dtype = 0; dtype < stretto::kDtypes; ++dtype)
                if (supports(static_cast<Dtype>(dtype), static_cast<stretto::ReduceOp>(op)))
                    found.push_back(
                        {static_cast<stretto_dtype>(dtype), static_cast<stretto_op>(op)});
        return found;
    }();
    return all;
}

// Sums of so many of both signs are exact at up to 33 ranks.
template<class T>
constexpr int kMost = 4000;
template<>
inline constexpr int kMost<Float16> = 60;
template<>
inline constexpr int kMost<Bfloat16> = 7;

// A small number of bits that have no period in the index, so that a block is seen that is off by
// any number of elements or slices.
inline std::uint64_t mixed(int rank, std::size_t index) {
    const std::uint64_t place = index * 0x9e3779b97f4a7c15u; // its high bits are spread evenly
    const std::uint64_t both = place + static_cast<std::uint64_t>(rank) * 0xc2b2ae3d27d4eb4fu;
    return (both ^ both >> 32) * 0xd6e8feb86659fd93u;
}

// True in one of `of`.
inline bool rarely(std::uint64_t bits, unsigned of) {
    return (bits >> 33) % of == 0;
}

// A type that holds such numbers and what becomes of them; 16-bit ones take long to convert.
template<class T>
using Held = std::conditional_t<kShort<T>, double, T>;

// Products are of +-1 and at most four 2s; of complex numbers also of +-i.
template<class T>
Held<T> held(stretto_op op, int rank, std::size_t index) {
    const std::uint64_t bits = mixed(rank, index);
    if constexpr (std::is_same_v<T, Bool>) {
        const bool value = op == STRETTO_LAND || op == STRETTO_BAND || op == STRETTO_MIN
                               ? !rarely(bits, 16)
                               : rarely(bits, op == STRETTO_LXOR || op == STRETTO_BXOR ? 2 : 16);
        return value ? Bool::of(static_cast<std::uint8_t>(bits >> 8 | 4)) : Bool(false);
    } else {
        const auto number = [](std::int64_t value) { return static_cast<Held<T>>(value); };
        switch (op) {
        case STRETTO_PROD: {
            const std::uint64_t place = index * 0x9e3779b97f4a7c15u >> 60;
            const Held<T> size = number((1 - 2 * static_cast<int>(bits >> 40 & 1)) *
                                        (1 + (place == static_cast<std::uint64_t>(rank) % 16)));
            if constexpr (kComplex<T>)
                return (bits >> 41 & 1) != 0 ? T(0, size.real()) : size;
            return size;
        }
        case STRETTO_BAND: return number(static_cast<std::int64_t>(bits | bits << 17 | bits >> 9));
        case STRETTO_BOR: return number(static_cast<std::int64_t>(bits & bits << 17 & bits >> 9));
        case STRETTO_BXOR: return number(static_cast<std::int64_t>(bits));
        case STRETTO_LAND: return number(rarely(bits, 16) ? 0 : static_cast<int>(bits >> 60) + 1);
        case STRETTO_LOR: return number(rarely(bits, 16) ? 64 : 0);
        case STRETTO_LXOR: return number(rarely(bits, 2) ? 2 : 0);
        default: break;
        }
        const auto least = -std::int64_t{kMost<T>};
        const auto value = static_cast<std::int64_t>((bits >> 40) * (2 * kMost<T> + 1) >> 24);
        if constexpr (kComplex<T>)
            return T(static_cast<typename T::value_type>(least + value),
                     static_cast<typename T::value_type>(bits & 1023));
        else
            return number(least + value);
    }
}
template<class T>
T contribution(stretto_op op, int rank, std::size_t index) {
    return T(held<T>(op, rank, index));
}

template<class T>
T combine(stretto_op op, T a, T b) {
    if constexpr (std::is_same_v<T, Bool>) {
        const bool x(a), y(b);
        switch (op) {
        case STRETTO_MIN:
        case STRETTO_BAND:
        case STRETTO_LAND: return Bool(x && y);
        case STRETTO_BXOR:
        case STRETTO_LXOR: return Bool(x != y);
        default: return Bool(x || y);
        }
    } else if constexpr (kShort<T>) {
        return T(combine<double>(op, static_cast<double>(a), static_cast<double>(b)));
    } else if constexpr (kComplex<T>) {
        return op == STRETTO_PROD ? T(a.real() * b.real() - a.imag() * b.imag(),
                                      a.real() * b.imag() + a.imag() * b.real())
                                  : a + b;
    } else {
        if constexpr (kInteger<T>) {
            switch (op) {
            case STRETTO_SUM: // modulo 2^64, so modulo 2^8 too
                return static_cast<T>(static_cast<std::uint64_t>(a) +
                                      static_cast<std::uint64_t>(b));
            case STRETTO_PROD:
                return static_cast<T>(static_cast<std::uint64_t>(a) *
                                      static_cast<std::uint64_t>(b));
            case STRETTO_BAND: return static_cast<T>(a & b);
            case STRETTO_BOR: return static_cast<T>(a | b);
            case STRETTO_BXOR: return static_cast<T>(a ^ b);
            case STRETTO_LAND: return a != 0 && b != 0;
            case STRETTO_LOR: return a != 0 || b != 0;
            case STRETTO_LXOR: return (a != 0) != (b != 0);
            default: break;
            }
        }
        switch (op) {
        case STRETTO_PROD: return a * b;
        case STRETTO_MIN: return std::min(a, b);
        case STRETTO_MAX: return std::max(a, b);
        default: return a + b;
        }
    }
}

// What an operation makes of the reduced contributions of so many ranks.
template<class T>
T completed(stretto_op op, int ranks, T value) {
    if constexpr (std::is_same_v<T, Bool>) {
        return Bool(static_cast<bool>(value));
    } else if constexpr (kInteger<T>) {
        return op >= STRETTO_LAND && op <= STRETTO_LXOR ? static_cast<T>(value != 0) : value;
    } else {
        if (op != STRETTO_AVG)
            return value;
        if constexpr (kShort<T>)
            return T(static_cast<float>(static_cast<double>(value)) / static_cast<float>(ranks));
        else if constexpr (kComplex<T>)
            return T(value.real() / static_cast<typename T::value_type>(ranks),
                     value.imag() / static_cast<typename T::value_type>(ranks));
        else
            return value / static_cast<T>(ranks);
    }
}

template<class T>
T expected(stretto_op op, int ranks, std::size_t index) {
    Held<T> result = held<T>(op, 0, index);
    for (int rank = 1; rank < ranks; ++rank)
        result = combine(op, result, held<T>(op, rank, index));
    return completed(op, ranks, T(result));
}

} // namespace test
