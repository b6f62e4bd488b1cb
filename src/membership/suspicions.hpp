// SPDX-License-Identifier: BSD-3-Clause
// Which members accuse which others within one epoch, and which members are left.
//
// A member that receives nothing from another one accuses it.  Accusations are flooded, so all
// members come to hold the same set of accusations.  The members that are left are a function of
// that set alone, so all members compute the same result, in whatever order the accusations came.
//
// If one member accuses another, the two have a conflict: only one of them can stay, as they cannot
// work together.  While there is a conflict, one member goes: the one with the most accusers; among
// equals the one with the most conflicts; among equals the one of the highest rank.  So
//     rank 1 is dead, ranks 0 and 2 accuse it                  -> 1 goes
//     the link between 2 and 5 is cut, each accuses the other  -> 5 goes, as it has the higher rank
//     3 was cut off and comes back: it accuses 0 and 1, and they accuse it  -> 3 goes alone
// A member that accuses itself leaves, and its accusations of others no longer count.
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

    // Both ranks are members.  False if this accusation was known already.
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
