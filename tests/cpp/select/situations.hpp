// SPDX-License-Identifier: BSD-3-Clause
// What calls are chosen for.
#pragma once

#include "select/select.hpp"

namespace test {

inline stretto::select::Situation allreduce(int ranks, unsigned cores, std::size_t bytes) {
    return {stretto::schedule::Collective::allreduce, ranks, cores, bytes};
}

} // namespace test
