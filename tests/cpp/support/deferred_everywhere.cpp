// SPDX-License-Identifier: BSD-3-Clause
// Linked to a test: all of its calls have their steps performed late, in any order, by another
// thread.  STRETTO_TEST_POLLED=1: ranks ask for what is complete, and nobody wakes them.
#include <cstdlib>

#include "support/deferred.hpp"

namespace {

struct Everywhere {
    test::Deferred executor{std::getenv("STRETTO_TEST_POLLED") != nullptr
                                ? test::Deferred::Tells::polled
                                : test::Deferred::Tells::signals};
    test::Registered registered{stretto::MemoryKind::host, executor};
};
const Everywhere everywhere;

} // namespace
