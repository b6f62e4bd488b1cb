// SPDX-License-Identifier: BSD-3-Clause
// The stall report, for the error of a call that does not complete: it lists which ranks wait for
// which, and so shows the rank that holds up all others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/shm/segment.hpp"

namespace stretto::engine {

// "rank 5 in step 3 of 14", "a message from rank 5", "rank 5 to take a message".
std::string in_words(const transport::WaitState &wait_state,
                     const transport::RankNames &names = {});

// Asks the ranks of other hosts for their wait states, and waits a moment for the answers; a rank
// that computes does not answer.
void ask_where(const transport::Segment &segment);

// "; ranks 1, 2 wait for rank 5 in step 3 of 14; rank 3 waits for rank 2 in step 1 of 14": all
// ranks that wait, except `rank` and ranks that have left.  If a rank is in another call than
// `call`, the text names that call.
inline constexpr std::uint64_t kNoCall = ~std::uint64_t{0};
std::string where_others_wait(const transport::Segment &segment, int rank,
                              std::uint64_t call = kNoCall);

} // namespace stretto::engine
