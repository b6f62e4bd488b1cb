// SPDX-License-Identifier: BSD-3-Clause
#include "select/measured.hpp"

#include <algorithm>

namespace stretto::select {

std::string_view name(Timing::By by) {
    return by == Timing::By::trial ? "trial" : "tune";
}

void add(std::vector<Measured> &all, const Measured &more) {
    auto found = std::ranges::find_if(all, [&](const Measured &each) { return each.alike(more); });
    if (found == all.end()) {
        if (all.size() >= kMostMeasuredKinds || more.host_of.size() > kMostPlacedRanks)
            return;
        found = all.insert(all.end(), more);
        found->times.clear();
    }
    std::size_t held = 0;
    for (const Measured &each : all)
        held += each.times.size();
    for (const Timing &timing : more.times) {
        const auto before = std::ranges::find_if(
            found->times, [&](const Timing &each) { return each.repeats(timing); });
        if (before != found->times.end()) {
            *before = timing;
        } else if (held < kMostTimings) {
            found->times.push_back(timing);
            ++held;
        }
    }
}

} // namespace stretto::select
