// SPDX-License-Identifier: BSD-3-Clause
// What a communicator counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/world.hpp"

namespace test {

// Calls of callers, of all collectives.
inline std::uint64_t calls_in_statistics(stretto_comm comm) {
    std::array<stretto_stat, 64> lines{};
    std::size_t number = 0;
    check(stretto_stats(comm, lines.data(), lines.size(), &number));
    std::uint64_t calls = 0;
    for (std::size_t i = 0; i < number; ++i)
        calls += lines[i].calls;
    return calls;
}

} // namespace test
