// SPDX-License-Identifier: BSD-3-Clause
// Calls with wrong arguments.
#pragma once

#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/text.hpp"
#include "support/world.hpp"

namespace test {

struct Wrong {
    std::string what;
    std::function<stretto_status()> call;
    std::string message; // part of it
};

// Each call is refused, alike on all ranks; then the communicator works.
inline void refused(stretto_comm comm, const std::vector<Wrong> &cases) {
    for (const Wrong &wrong : cases) {
        CAPTURE(wrong.what);
        CHECK(wrong.call() == STRETTO_ERR_ARGUMENT);
        const std::string message = stretto_last_error();
        CAPTURE(message);
        CHECK(contains(message, wrong.message));
    }
    const int mine = stretto_rank(comm);
    int sum = -1;
    CHECK(stretto_allreduce(comm, &mine, &sum, 1, STRETTO_INT32, STRETTO_SUM) == STRETTO_OK);
    CHECK(sum == stretto_size(comm) * (stretto_size(comm) - 1) / 2);
}

template<class Enumeration>
Enumeration beyond(int value) {
    return static_cast<Enumeration>(value);
}

constexpr std::size_t kHuge[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 16};

} // namespace test
