// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <memory>
#include <string>

#include "base/thread.hpp"

using namespace stretto;

TEST_CASE("a thread has its name before it works, and may own what it works with") {
    std::string seen(16, '\0');
    auto name = std::make_shared<std::string>("stretto-fifteen"); // as long as names may be
    std::thread worker = named_thread("stretto-fifteen", [&seen, name] {
        CHECK(::pthread_getname_np(::pthread_self(), seen.data(), seen.size()) == 0);
        CHECK(seen.c_str() == *name);
    });
    name.reset();
    worker.join();
    CHECK(std::string(seen.c_str()) == "stretto-fifteen");
}
