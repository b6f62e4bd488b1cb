// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/late_rank_choice.hpp"

#include <algorithm>

#include "base/medians.hpp"

namespace stretto::arrival {

namespace {

// Who comes within this part of what a call takes is not late; nor within so many nanoseconds.
constexpr std::uint64_t kCallDivisor = 20, kLeastGraceNs = 5'000;

} // namespace

double LateRankChoice::usual(const Times &times) {
    return times.empty() ? 0 : static_cast<double>(median(times));
}

void LateRankChoice::keep(Times &times, std::uint64_t time) {
    times.push_back(time);
    if (times.size() > kMedianCalls)
        times.pop_front();
}

// Only calls whose last rank found the others done with all that could be done without it, or
// served as it was to be.
void LateRankChoice::took(std::uint64_t time) {
    if (time == 0)
        return;
    if (late_)
        keep(elected_, time);
    else if (!waited_ && gap_ >= time)
        keep(balanced_, time);
}

bool LateRankChoice::comes_late() const {
    return gaps_.size() == kMedianCalls && usual_gap() > balanced();
}

void LateRankChoice::enter(State state) {
    state_ = state;
    calls_ = 0;
}

void LateRankChoice::add(std::uint64_t gap, bool late) {
    waited_ = waits();
    late_ = late;
    gap_ = gap;
    keep(gaps_, gap);
    ++calls_;
    switch (state_) {
    case State::usual:
        if (calls_ <= rest_ || balanced_.size() < kMedianCalls || !comes_late())
            return;
        elected_.clear();
        grace_ = std::max(kLeastGraceNs, static_cast<std::uint64_t>(balanced()) / kCallDivisor);
        enter(State::tried);
        return;
    case State::tried:
        if (elected_.size() < kMedianCalls && calls_ < kTrialCalls)
            return;
        if (elected_.size() == kMedianCalls && elected() < kGainFactor * balanced()) {
            next_rest_ = kRestCalls;
            enter(State::serves);
            return;
        }
        rest_ = next_rest_;
        next_rest_ = std::min(2 * next_rest_, kMostRestCalls);
        break;
    case State::serves:
        if (comes_late() && calls_ < kReviewCalls)
            return;
        rest_ = 0;
        break;
    }
    balanced_.clear();
    enter(State::usual);
}

} // namespace stretto::arrival
