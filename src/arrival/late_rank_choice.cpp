// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/late_rank_choice.hpp"

#include <algorithm>

#include "base/medians.hpp"

namespace stretto::arrival {

namespace {

// A rank that arrives within this part of what a call takes is not late, nor within so many
// nanoseconds.
constexpr std::uint64_t kCallDivisor = 20, kLeastGraceNs = 5'000;

} // namespace

double LateRankChoice::median_of(const Times &times) {
    return times.empty() ? 0 : static_cast<double>(median(times));
}

void LateRankChoice::keep(Times &times, std::uint64_t time) {
    times.push_back(time);
    if (times.size() > kMedianCalls)
        times.pop_front();
}

// Only calls count whose last rank found that the others had done all that they could without it,
// or that ran as the state says.
void LateRankChoice::took(std::uint64_t time) {
    if (time == 0)
        return;
    if (late_)
        keep(late_last_, time);
    else if (!waited_ && last_gap_ >= time)
        keep(synchronous_, time);
}

bool LateRankChoice::comes_late() const {
    return gaps_.size() == kMedianCalls && gap() > synchronous();
}

void LateRankChoice::enter(State state) {
    state_ = state;
    calls_ = 0;
}

void LateRankChoice::add(std::uint64_t gap, bool late) {
    waited_ = waits();
    late_ = late;
    last_gap_ = gap;
    keep(gaps_, gap);
    ++calls_;
    switch (state_) {
    case State::synchronous:
        if (calls_ <= rest_ || synchronous_.size() < kMedianCalls || !comes_late())
            return;
        late_last_.clear();
        grace_ = std::max(kLeastGraceNs, static_cast<std::uint64_t>(synchronous()) / kCallDivisor);
        enter(State::tried);
        return;
    case State::tried:
        if (late_last_.size() < kMedianCalls && calls_ < kTrialCalls)
            return;
        if (late_last_.size() == kMedianCalls && late_last() < kGainFactor * synchronous()) {
            next_rest_ = kRestCalls;
            enter(State::kept);
            return;
        }
        rest_ = next_rest_;
        next_rest_ = std::min(2 * next_rest_, kMostRestCalls);
        break;
    case State::kept:
        if (comes_late() && calls_ < kReviewCalls)
            return;
        rest_ = 0;
        break;
    }
    synchronous_.clear();
    enter(State::synchronous);
}

} // namespace stretto::arrival
