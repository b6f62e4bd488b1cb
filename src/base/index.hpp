// SPDX-License-Identifier: BSD-3-Clause
// Ranks, positions, blocks and slots are signed, as in MPI; what is indexed by them is not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

constexpr std::size_t at(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

} // namespace stretto
