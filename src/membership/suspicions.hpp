// SPDX-License-Identifier: BSD-3-Clause
// Who accuses whom within one epoch, and who is left when that is resolved.
//
// A member that hears nothing of another accuses it.  Accusations are flooded, so all members come
// to hold the same set of them, and what is left is a function of that set alone: all come to the
// same result whatever the order in which they learned.
//
// Of two members one of which accuses the other only one can stay: they would not work together.
// While there is such a pair, the member goes that is accused by most; of several the one with most
// conflicts; of several the highest rank.  So
//     rank 1 is dead, ranks 0 and 2 say so            -> 1 goes
//     the link between 2 and 5 is cut, both say so    -> 5 goes, for it has the higher rank
//     3 was cut off and comes back: it accuses 0 and 1, who accuse it   -> 3 goes alone
// Whoever accuses itself leaves, and what it says of others no longer counts.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "membership/rank_set.hpp"

namespace stretto::membership {

struct Accusation {
    std::int32_t accuser, accused;
    friend auto operator<=>(const Accusation &, const Accusation &) = default;
};

class Suspicions {
public:
    explicit Suspicions(RankSet members);

    // Both are members.  False if it was known.
    bool add(Accusation accusation);
    std::span<const Accusation> accusations() const { return accusations_; }
    const RankSet &left() const { return left_; }

    friend auto operator<=>(const Suspicions &, const Suspicions &) = default;

private:
    bool knows(Accusation accusation) const;
    void resolve();
    int next_to_go() const; // kNoRank: no conflict is left

    RankSet members_, left_;
    std::vector<Accusation> accusations_; // sorted
};

} // namespace stretto::membership
