// SPDX-License-Identifier: BSD-3-Clause
// The terms of the membership protocol: views, ballots, reasons.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "membership/rank_set.hpp"

namespace stretto::membership {

inline constexpr int kNoRank = -1;

// The members of a communicator in one epoch.  Ranks keep the numbers of the first view.  The next
// view has the next epoch, and never more members.
struct View {
    std::uint32_t epoch = 0;
    RankSet members;
    std::uint64_t completed = 0; // calls of the previous epoch that every member has completed
    friend auto operator<=>(const View &, const View &) = default;
};

// More than half of `all`, or half of them with the lowest rank among them.  Two quorums share a
// member: two halves at least the lowest rank.
inline bool is_quorum(const RankSet &some, const RankSet &all) {
    const int has = 2 * (some & all).count(), needs = all.count();
    return has > needs || (has == needs && some.has(all.lowest()));
}

// More rounds than any agreement takes.
inline constexpr std::uint32_t kMostRounds = std::uint32_t{1} << 30;

// An attempt to agree.  Ballots are ordered, and no two ranks have the same.
struct Ballot {
    std::uint32_t round = 0; // 0: none
    std::int32_t owner = kNoRank;
    friend auto operator<=>(const Ballot &, const Ballot &) = default;
};

// A vote for a view, in a ballot.
struct Vote {
    Ballot ballot;
    View view;
    friend auto operator<=>(const Vote &, const Vote &) = default;
};

// Why an epoch was revoked.
struct Reason {
    Status status = Status::peer;
    std::int32_t origin = kNoRank;  // the rank that revoked it
    std::int32_t culprit = kNoRank; // the rank that the origin accuses: itself, if it leaves
    std::string text;
    friend auto operator<=>(const Reason &, const Reason &) = default;
};

} // namespace stretto::membership
