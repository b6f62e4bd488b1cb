// SPDX-License-Identifier: BSD-3-Clause
// The accounting: the exact cost of a schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The cost of one position.  A message whose blocks are all empty is not sent and not counted.
struct Cost {
    std::int64_t sends = 0;
    std::int64_t recvs = 0;
    std::int64_t blocks_sent = 0;
    std::int64_t blocks_received = 0;
    std::int64_t reductions = 0;     // block reductions: an n-ary reduce counts n - 1 per block
    std::int64_t copies = 0;         // blocks copied
    std::int64_t scratch_blocks = 0; // most scratch blocks live at once
    std::size_t bytes_sent = 0;
    std::size_t bytes_received = 0;
    std::size_t bytes_reduced = 0;
    std::size_t scratch_bytes = 0;
};

struct Accounting {
    std::int64_t steps = 0; // messages on the longest dependent chain
    std::vector<Cost> positions;
    Cost most;  // field by field the largest of all positions
    Cost total; // field by field the sum
};

// The cost for a vector of `count` elements of `element` bytes.
Accounting account(const Schedule &schedule, std::size_t count, std::size_t element,
                   std::int32_t token_value = 0);
// The symbolic cost: every block counts as one element of one byte.
Accounting account(const Schedule &schedule, std::int32_t token_value = 0);

} // namespace stretto::schedule
