// SPDX-License-Identifier: BSD-3-Clause
#include "membership/suspicions.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "membership/view.hpp"

namespace stretto::membership {

Suspicions::Suspicions(RankSet members) : members_(std::move(members)), left_(members_) {}

bool Suspicions::knows(Accusation accusation) const {
    return std::ranges::binary_search(accusations_, accusation);
}

bool Suspicions::add(Accusation accusation) {
    const auto at = std::ranges::lower_bound(accusations_, accusation);
    if (at != accusations_.end() && *at == accusation)
        return false;
    accusations_.insert(at, accusation);
    resolve();
    return true;
}

void Suspicions::resolve() {
    left_ = members_;
    for (const auto [accuser, accused] : accusations_)
        if (accuser == accused)
            left_.erase(accuser);
    for (int rank = next_to_go(); rank != kNoRank; rank = next_to_go())
        left_.erase(rank);
}

int Suspicions::next_to_go() const {
    struct Tally {
        int accused = 0, conflicts = 0;
    };
    std::vector<Tally> tallies(static_cast<std::size_t>(members_.ranks()));
    const auto tally = [&](int rank) -> Tally & { return tallies[static_cast<std::size_t>(rank)]; };
    for (const Accusation each : accusations_) {
        if (!left_.has(each.accuser) || !left_.has(each.accused))
            continue;
        ++tally(each.accused).accused;
        // Two members that accuse each other have one conflict, not two.
        if (each.accuser < each.accused || !knows({each.accused, each.accuser})) {
            ++tally(each.accuser).conflicts;
            ++tally(each.accused).conflicts;
        }
    }
    int worst = kNoRank;
    const auto weight = [&](int rank) {
        return std::tuple(tally(rank).accused, tally(rank).conflicts, rank);
    };
    for (const int rank : left_)
        if (tally(rank).conflicts > 0 && (worst == kNoRank || weight(rank) > weight(worst)))
            worst = rank;
    return worst;
}

} // namespace stretto::membership
