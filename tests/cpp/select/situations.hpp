// SPDX-License-Identifier: BSD-3-Clause
// What calls are chosen for.
#pragma once

#include "select/select.hpp"

namespace test {

inline stretto::select::Situation allreduce(int ranks, unsigned cores, std::size_t bytes) {
    stretto::select::Situation situation;
    situation.ranks = ranks;
    situation.cores = cores;
    situation.bytes = bytes;
    return situation;
}

} // namespace test
