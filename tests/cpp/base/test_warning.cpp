// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cstdio>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/warning.hpp"

using namespace stretto;

namespace {

// What `body` writes to standard error.
template<class Body>
std::string errors_of(Body &&body) {
    const Descriptor file(memfd_create("errors", MFD_CLOEXEC)), before(dup(STDERR_FILENO));
    REQUIRE(dup2(file.get(), STDERR_FILENO) == STDERR_FILENO);
    body();
    REQUIRE(dup2(before.get(), STDERR_FILENO) == STDERR_FILENO);
    std::string text(4096, '\0');
    const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
    REQUIRE(size >= 0);
    text.resize(static_cast<std::size_t>(size));
    return text;
}

} // namespace

TEST_CASE("warnings are on until a job switches them off") {
    const auto both = [] {
        warn("look out");
        log("look here");
    };
    CHECK(errors_of(both) ==
          "stretto: look out (STRETTO_WARN=0 silences this)\nstretto: look here\n");
    set_warnings(false);
    CHECK(errors_of(both) == "stretto: look here\n"); // which another setting asked for
    set_warnings(true);
    CHECK(errors_of(both).find("look out") != std::string::npos);
}
