// SPDX-License-Identifier: BSD-3-Clause
// 16-bit floating-point numbers: every one of them there and back, and how results are rounded.
#include <numeric>
#include <string>
#include <vector>

#include "doctest.h"
#include "reference.hpp"

using namespace stretto;
using namespace stretto::test;
using reduce::Rounding;

namespace {

constexpr std::size_t kAll = 65536;

template<class T>
std::vector<T> all_values() {
    std::vector<T> values(kAll);
    for (std::size_t i = 0; i < kAll; ++i)
        values[i] = T::from_bits(static_cast<unsigned>(i));
    return values;
}

template<class T>
std::vector<T> passed(reduce::Pass pass, const std::vector<std::vector<T>> &operands) {
    std::vector<T> result(operands[0].size());
    std::vector<const void *> in;
    for (const auto &operand : operands)
        in.push_back(operand.data());
    void *out[] = {result.data()};
    pass(out, 1, in.data(), static_cast<int>(in.size()), result.size(), 0);
    return result;
}

template<class T>
std::size_t wrong(const std::vector<T> &got, const std::vector<T> &right) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < right.size(); ++i)
        number += got[i] != right[i];
    return number;
}

} // namespace

TEST_CASE_TEMPLATE("the conversions know every number", T, Float16, Bfloat16) {
    // What the tests compare with: written from the definitions, so it comes first.
    for (const T value : all_values<T>()) {
        const auto number = static_cast<double>(value);
        CHECK(T(number).bits == (std::isnan(number) ? T::kNan : value.bits));
    }
    CHECK(static_cast<double>(Float16::from_bits(0x3c01)) == 1 + 0x1p-10);
    CHECK(static_cast<double>(Float16::from_bits(0xfbff)) == -65504);
    CHECK(static_cast<double>(Float16::from_bits(1)) == 0x1p-24);
    CHECK(static_cast<double>(Bfloat16::from_bits(0x3f81)) == 1 + 0x1p-7);
    CHECK(static_cast<double>(Bfloat16::from_bits(1)) == 0x1p-133);
}

TEST_CASE_TEMPLATE("every number comes through a reduction as it is", T, Float16, Bfloat16) {
    const std::vector<T> values = all_values<T>();
    std::vector<T> right(values);
    for (T &value : right)
        if (std::isnan(static_cast<double>(value)))
            value = the_nan<T>();
    const std::vector<T> nothing(kAll, T(-0.0)), one(kAll, T(1));
    for (const auto isa : available_isas())
        for (const auto rounding : {Rounding::once, Rounding::each}) {
            const auto pass = [&](ReduceOp op) {
                return reduce::pass(dtype_of<T>(), op, rounding, isa);
            };
            CHECK(wrong(passed<T>(pass(ReduceOp::sum), {values, nothing}), right) == 0);
            CHECK(wrong(passed<T>(pass(ReduceOp::prod), {values, one}), right) == 0);
            CHECK(wrong(passed<T>(pass(ReduceOp::min), {values, values}), right) == 0);
            CHECK(wrong(passed<T>(pass(ReduceOp::max), {values, values}), right) == 0);
        }
}

TEST_CASE_TEMPLATE("pairs are as if rounded once: all numbers with some", T, Float16, Bfloat16) {
    const std::vector<T> values = all_values<T>();
    std::vector<T> others = special_values<T>();
    for (std::uint64_t k = 0; k < 40; ++k)
        others.push_back(T::from_bits(static_cast<unsigned>(scramble(k, 77) & 0xffff)));
    for (const T other : others)
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
            std::vector<T> right(kAll);
            for (std::size_t i = 0; i < kAll; ++i) {
                // In double nothing of a sum or a product is lost; but for -0, 0 and NaN.
                const auto a = static_cast<double>(values[i]), b = static_cast<double>(other);
                right[i] = T(apply_floating(op, a, b));
            }
            CAPTURE(name(op));
            CAPTURE(other.bits);
            for (const auto isa : available_isas())
                CHECK(wrong(passed<T>(reduce::pass(dtype_of<T>(), op, Rounding::once, isa),
                                      {values, std::vector<T>(kAll, other)}),
                            right) == 0);
        }
}

TEST_CASE_TEMPLATE("a pass rounds once, or after each pair", T, Float16, Bfloat16) {
    // 1 + u/2 is a tie, to even: 1.  Two halves at once make 1 + u.
    const double ulp = std::is_same_v<T, Float16> ? 0x1p-10 : 0x1p-7;
    const std::vector<std::vector<T>> operands = {{T(1)}, {T(ulp / 2)}, {T(ulp / 2)}};
    for (const auto isa : available_isas()) {
        const auto sum = [&](Rounding rounding) {
            return static_cast<double>(
                passed<T>(reduce::pass(dtype_of<T>(), ReduceOp::sum, rounding, isa), operands)[0]);
        };
        CHECK(sum(Rounding::once) == 1 + ulp);
        CHECK(sum(Rounding::each) == 1);
    }
}

TEST_CASE_TEMPLATE("rounded after each pair, the bits do not depend on how passes are cut", T,
                   Float16, Bfloat16) {
    constexpr int kOperands = 8;
    constexpr std::size_t kCount = 1009;
    std::vector<std::vector<T>> operands;
    for (int k = 0; k < kOperands; ++k) {
        operands.emplace_back();
        for (std::size_t i = 0; i < kCount; ++i)
            operands.back().push_back(element<T>(i, k, kOperands));
    }
    for (const auto isa : available_isas())
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod}) {
            const auto pass = reduce::pass(dtype_of<T>(), op, Rounding::each, isa);
            const std::vector<T> whole = passed<T>(pass, operands);
            for (std::size_t cut = 1; cut + 1 < operands.size(); ++cut) {
                const auto middle = operands.begin() + static_cast<std::ptrdiff_t>(cut) + 1;
                std::vector<std::vector<T>> rest = {
                    passed<T>(pass, std::vector(operands.begin(), middle))};
                rest.insert(rest.end(), middle, operands.end());
                CHECK(wrong(passed<T>(pass, rest), whole) == 0);
            }
        }
}
