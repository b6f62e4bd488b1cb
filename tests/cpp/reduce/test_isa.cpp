// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "base/status.hpp"
#include "doctest.h"
#include "reference.hpp"

using namespace stretto;
using reduce::Isa;

TEST_CASE("every available instruction set has every kernel, the others none") {
    CHECK(reduce::available(Isa::baseline));
    for (const Isa isa : test::kIsas) {
        CAPTURE(reduce::name(isa));
        CHECK((reduce::copy_pass(isa) != nullptr) == reduce::available(isa));
        for (int type = 0; type < kDtypes; ++type)
            for (int op = 0; op < kReduceOps; ++op)
                CHECK((reduce::pass(static_cast<Dtype>(type), static_cast<ReduceOp>(op), isa) !=
                       nullptr) == reduce::available(isa));
    }
}

TEST_CASE("a limit narrows the choice and never widens it") {
    const Isa widest = reduce::widest_isa("");
    CHECK(reduce::available(widest));
    CHECK(reduce::widest_isa("baseline") == Isa::baseline);
    for (const Isa isa : test::kIsas) {
        const Isa chosen = reduce::widest_isa(reduce::name(isa));
        CHECK(reduce::available(chosen));
        CHECK(chosen <= isa);
        CHECK(chosen == (reduce::available(isa) ? isa : widest));
    }
}

TEST_CASE("an unknown limit is an error that names what would do") {
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
