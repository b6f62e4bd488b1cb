// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <dlfcn.h>
#include <string>

#include "base/shared_library.hpp"
#include "base/status.hpp"

using namespace stretto;

TEST_CASE("functions of a library that is loaded at run time, or an error with the remedy") {
    void *const program = dlopen(nullptr, RTLD_NOW);
    REQUIRE(program != nullptr);
    const SharedLibrary library(program, "libtest.so.0", "; install another");
    int (*to_upper)(int) = nullptr;
    library.find("toupper", to_upper);
    CHECK(to_upper('s') == 'S');
    std::string why;
    try {
        library.find("stretto_is_not_in_it", to_upper);
    } catch (const Error &error) {
        CHECK(error.status() == Status::system);
        why = error.what();
    }
    CHECK(why == "libtest.so.0 has no function stretto_is_not_in_it; install another");
}

TEST_CASE("why a library cannot be loaded") {
    (void)dlerror();
    CHECK(dl_reason() == "no reason given");
    CHECK(dlopen("libstretto-is-not-there.so", RTLD_NOW) == nullptr);
    CHECK(dl_reason().find("libstretto-is-not-there.so") != std::string::npos);
    CHECK(dl_reason() == "no reason given");
}
