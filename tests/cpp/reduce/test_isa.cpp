// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "base/status.hpp"
#include "doctest.h"
#include "reference.hpp"

using namespace stretto;
using reduce::Isa;

TEST_CASE("every available instruction set has every kernel, the others none") {
    CHECK(reduce::available(Isa::baseline));
    for (const Isa isa : stretto::test::kIsas) {
        CAPTURE(reduce::name(isa));
        CHECK((reduce::copy_pass(isa) != nullptr) == reduce::available(isa));
        for (int d = 0; d < kDtypes; ++d) {
            const auto dtype = static_cast<Dtype>(d);
            CAPTURE(name(dtype));
            for (int o = 0; o < kReduceOps; ++o) {
                const auto op = static_cast<ReduceOp>(o);
                CAPTURE(name(op));
                const bool wanted =
                    reduce::available(isa) && supports(dtype, op) && !is_user_defined(op);
                for (const auto rounding : {reduce::Rounding::once, reduce::Rounding::each})
                    CHECK((reduce::pass(dtype, op, rounding, isa) != nullptr) == wanted);
            }
            const auto has = [&](reduce::Mapping mapping) {
                return reduce::map(mapping, dtype, isa) != nullptr;
            };
            const auto wanted = [&](ReduceOp op) {
                return reduce::available(isa) && supports(dtype, op);
            };
            CHECK(has(reduce::Mapping::multiply) == wanted(ReduceOp::premul_sum));
            CHECK(has(reduce::Mapping::divide) == wanted(ReduceOp::avg));
            CHECK(has(reduce::Mapping::truth) == wanted(ReduceOp::land));
        }
    }
}

TEST_CASE("a limit narrows the choice and never widens it") {
    const Isa widest = reduce::widest_isa("");
    CHECK(reduce::available(widest));
    CHECK(reduce::widest_isa("baseline") == Isa::baseline);
    for (const Isa isa : stretto::test::kIsas) {
        const Isa chosen = reduce::widest_isa(reduce::name(isa));
        CHECK(reduce::available(chosen));
        CHECK(chosen <= isa);
        CHECK(chosen == (reduce::available(isa) ? isa : widest));
    }
}

TEST_CASE("an unknown limit is an error that names the accepted ones") {
    try {
        reduce::widest_isa("avx1024");
        FAIL("accepted");
    } catch (const Error &error) {
        const std::string message = error.what();
        CHECK(error.status() == Status::argument);
        for (const char *part : {"STRETTO_ISA", "avx1024", "baseline", "avx2", "avx512"})
            CHECK(message.find(part) != std::string::npos);
    }
}
