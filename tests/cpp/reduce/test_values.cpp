// SPDX-License-Identifier: BSD-3-Clause
// The corners of arithmetic, in every lane of a vector and in what is left over.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "doctest.h"
#include "reference.hpp"

using namespace stretto;
using namespace stretto::test;

namespace {

// The result of `a op b`, from every instruction set and several lengths; all must agree.
template<class T>
BitsOf<T> result(ReduceOp op, T a, T b) {
    std::vector<BitsOf<T>> results;
    for (const auto isa : available_isas())
        for (const std::size_t count : {1, 2, 5, 16, 67}) {
            const std::vector<T> left(count, a), right(count, b);
            std::vector<T> sum(count);
            const void *in[] = {left.data(), right.data()};
            void *out[] = {sum.data()};
            reduce::pass(dtype_of<T>(), op, reduce::Rounding::once, isa)(out, 1, in, 2, count, 0);
            for (const T value : sum)
                results.push_back(bits(value));
        }
    for (const auto value : results)
        REQUIRE(value == results.front());
    return results.front();
}

} // namespace

TEST_CASE_TEMPLATE("minimum and maximum are those of IEEE 754-2019", T, float, double) {
    const T zero = 0, inf = std::numeric_limits<T>::infinity();
    for (const auto &[a, b] : {std::pair{zero, -zero}, std::pair{-zero, zero}}) {
        CHECK(result(ReduceOp::min, a, b) == bits(-zero));
        CHECK(result(ReduceOp::max, a, b) == bits(zero));
    }
    CHECK(result(ReduceOp::min, -zero, -zero) == bits(-zero));
    CHECK(result(ReduceOp::max, -zero, -zero) == bits(-zero));
    CHECK(result(ReduceOp::min, -inf, T(1)) == bits(-inf));
    CHECK(result(ReduceOp::max, T(1), inf) == bits(inf));
    const T denormal = std::numeric_limits<T>::denorm_min();
    CHECK(result(ReduceOp::min, denormal, zero) == bits(zero));
    CHECK(result(ReduceOp::max, denormal, zero) == bits(denormal));
}

TEST_CASE_TEMPLATE("NaN wins over everything and is always the same", T, float, double) {
    const auto special = special_values<T>();
    for (const T nan : special)
        if (std::isnan(nan))
            for (const T other : special)
                for (const ReduceOp op : ops_of(dtype_of<T>())) {
                    CHECK(result(op, nan, other) == bits(the_nan<T>()));
                    CHECK(result(op, other, nan) == bits(the_nan<T>()));
                }
    const T inf = std::numeric_limits<T>::infinity();
    CHECK(result(ReduceOp::sum, inf, -inf) == bits(the_nan<T>()));
    CHECK(result(ReduceOp::prod, inf, T(0)) == bits(the_nan<T>()));
}

TEST_CASE_TEMPLATE("denormals are numbers", T, float, double) {
    using Limits = std::numeric_limits<T>;
    const T least = Limits::denorm_min();
    CHECK(result(ReduceOp::sum, least, least) == 2);
    CHECK(result(ReduceOp::sum, Limits::min(), -least) == bits(Limits::min()) - 1);
    CHECK(result(ReduceOp::prod, Limits::min(), T(0.5)) == bits(Limits::min()) / 2);
}

TEST_CASE_TEMPLATE("integers wrap", T, std::int32_t, std::int64_t) {
    using Limits = std::numeric_limits<T>;
    CHECK(result<T>(ReduceOp::sum, Limits::max(), 1) == bits(Limits::min()));
    CHECK(result<T>(ReduceOp::sum, Limits::min(), -1) == bits(Limits::max()));
    CHECK(result<T>(ReduceOp::prod, Limits::min(), -1) == bits(Limits::min()));
    CHECK(result<T>(ReduceOp::prod, Limits::max(), Limits::max()) == 1);
    CHECK(result<T>(ReduceOp::min, Limits::min(), Limits::max()) == bits(Limits::min()));
    CHECK(result<T>(ReduceOp::max, -1, 0) == 0);
}

TEST_CASE("a fold goes from the left and rounds after each operand") {
    // 1 + 2^-24 is a tie, to even: 1.  From the right the two halves would make 1 + 2^-23.
    const float one = 1, half_ulp = std::ldexp(1.0f, -24);
    for (const auto isa : available_isas()) {
        const void *in[] = {&one, &half_ulp, &half_ulp};
        float sum = 0;
        void *out[] = {&sum};
        reduce::pass(Dtype::f32, ReduceOp::sum, reduce::Rounding::once, isa)(out, 1, in, 3, 1, 0);
        CHECK(sum == 1.0f);
    }
}
