// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/phase.hpp"

#include <vector>

#include "base/medians.hpp"

namespace stretto::arrival {

void Phase::begin(std::uint64_t now) {
    if (begun_)
        follow(kNone);
    begun_ = true;
    edges_ = false;
    ended_.reset();
    start_ = now;
}

std::optional<Phase::Foreseen> Phase::edge(std::uint64_t now, double fraction) {
    if (!begun_)
        return std::nullopt;
    edges_ = true;
    const auto found = firsts_.find(coming_);
    if (found == firsts_.end() || found->second.size() < kFewestCalls)
        return std::nullopt;
    const std::int64_t first =
        median(std::vector<std::int64_t>(found->second.begin(), found->second.end()));
    const double whole = static_cast<double>(now - start_) / fraction;
    return Foreseen{start_ + static_cast<std::uint64_t>(whole),
                    static_cast<std::int64_t>(whole) - first};
}

bool Phase::end(std::uint64_t now, std::uint64_t call) {
    if (!begun_)
        return false;
    begun_ = false;
    ended_ = {call, static_cast<std::int64_t>(now - start_)};
    follow(call);
    return edges_;
}

void Phase::came(std::int64_t late) {
    if (!ended_)
        return;
    std::deque<std::int64_t> &firsts = firsts_[ended_->call];
    firsts.push_back(ended_->duration - late);
    if (firsts.size() > kCalls)
        firsts.pop_front();
    ended_.reset();
}

// Unless it is known better, the same call comes again.
void Phase::follow(std::uint64_t call) {
    next_[latest_] = call;
    latest_ = call;
    coming_ = next_.try_emplace(call, call).first->second;
}

} // namespace stretto::arrival
