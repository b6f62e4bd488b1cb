// SPDX-License-Identifier: BSD-3-Clause
// Where ranks wait, for the error of a call that nobody completes: from whom the others wait for,
// people see who holds up all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/segment.hpp"

namespace stretto::engine {

// "rank 5 in step 3 of 14", "a message from rank 5", "rank 5 to take a message".
std::string in_words(const transport::WaitState &standing, const transport::RankNames &names = {});

// Asks the ranks of other hosts where they stand, and waits for their answers: a moment at most,
// since a rank that computes does not answer.
void ask_where(const transport::Segment &segment);

// "; ranks 1, 2 wait for rank 5 in step 3 of 14; rank 3 waits for rank 2 in step 1 of 14": all
// ranks but `rank`, and those that take no part any more, as far as they wait.  Where it is not
// `call` that a rank is in, the words say which call it is.
inline constexpr std::uint64_t kNoCall = ~std::uint64_t{0};
std::string where_others_wait(const transport::Segment &segment, int rank,
                              std::uint64_t call = kNoCall);

} // namespace stretto::engine
