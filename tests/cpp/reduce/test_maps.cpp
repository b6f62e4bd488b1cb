// SPDX-License-Identifier: BSD-3-Clause
// What is done to each element by itself: multiples, quotients, truth.
#include <cstring>
#include <string>
#include <vector>

#include "doctest.h"
#include "reference.hpp"

using namespace stretto;
using namespace stretto::test;
using reduce::Mapping;

namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kUntouched{0xa5};

// In place or not, anywhere in a cache line, on every instruction set.
template<class T>
void check(Mapping mapping, const void *constant, const std::vector<T> &values,
           const std::vector<T> &right) {
    const std::vector<std::byte> given = bytes_of(values), wanted = bytes_of(right);
    for (const auto isa : available_isas())
        for (const std::size_t offset : {0, 1, 8, 60})
            for (const bool in_place : {false, true}) {
                std::vector<std::byte> in(given.size() + 2 * kGuard, kUntouched), out(in);
                std::byte *const from = in.data() + 1 + offset;
                std::byte *const to = in_place ? from : out.data() + kGuard - offset;
                std::copy(given.begin(), given.end(), from);
                reduce::map(mapping, dtype_of<T>(), isa)(to, from, values.size(), constant);
                const bool same = std::equal(wanted.begin(), wanted.end(), to);
                CHECK_MESSAGE(same, name(dtype_of<T>()), ", ", values.size(), " elements, isa ",
                              reduce::name(isa), ", at ", offset, in_place ? ", in place" : "");
                CHECK(to[-1] == kUntouched);
                CHECK(to[wanted.size()] == kUntouched);
            }
}

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 1009};

template<class T, class Function>
void check_all(Mapping mapping, const void *constant, Function &&function) {
    for (const std::size_t count : kCounts) {
        std::vector<T> values(count), right(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = element<T>(i, static_cast<int>(count % 3), 3);
            right[i] = function(values[i]);
        }
        check(mapping, constant, values, right);
    }
}

template<class T>
T quotient(T value, double divisor) {
    if constexpr (kComplex<T>) {
        using Part = typename T::value_type;
        return {quotient<Part>(value.real(), divisor), quotient<Part>(value.imag(), divisor)};
    } else {
        const Held<T> result = held(value) / static_cast<Held<T>>(divisor);
        return std::isnan(result) ? the_nan<T>() : given<T>(result);
    }
}

} // namespace

TEST_CASE("a multiple is the product with a constant") {
    for (int d = 0; d < kDtypes; ++d)
        with_type(static_cast<Dtype>(d), [&]<class T>(T) {
            if (!supports(dtype_of<T>(), ReduceOp::premul_sum))
                return;
            for (const T factor : {ordinary<T>(scramble(1, 1)), ordinary<T>(scramble(2, 5)),
                                   special_values<T>()[2], special_values<T>()[5]})
                check_all<T>(Mapping::multiply, &factor, [&](T value) {
                    return given<T>(apply(ReduceOp::prod, held(value), held(factor)));
                });
        });
}

TEST_CASE("a quotient is rounded once") {
    for (int d = 0; d < kDtypes; ++d)
        with_type(static_cast<Dtype>(d), [&]<class T>(T) {
            if constexpr (!kInteger<T> && !std::is_same_v<T, Bool>)
                // 259 and 4099 are no bfloat16 and no float16.
                for (const double divisor : {1.0, 3.0, 7.0, 259.0, 4099.0})
                    check_all<T>(Mapping::divide, &divisor,
                                 [&](T value) { return quotient(value, divisor); });
        });
}

TEST_CASE("any bit is true") {
    for (int d = 0; d < kDtypes; ++d)
        with_type(static_cast<Dtype>(d), [&]<class T>(T) {
            if constexpr (kInteger<T>)
                check_all<T>(Mapping::truth, nullptr, [](T value) { return T(value != 0); });
            else if constexpr (std::is_same_v<T, Bool>)
                check_all<T>(Mapping::truth, nullptr, [](T value) { return T(value.byte != 0); });
        });
}
