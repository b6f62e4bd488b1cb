// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/trial.hpp"

#include <algorithm>
#include <utility>

#include "select/select.hpp"

namespace stretto::tuning {

void Trial::begin(std::vector<std::string> candidates) {
    candidates_ = std::move(candidates);
    calls_ = 0;
    state_ = candidates_.size() < 2 ? State::over : State::trying;
}

const std::string &Trial::serve() {
    served_ = state_ == State::trying ? calls_ % candidates_.size() : chosen_;
    return candidates_[served_];
}

void Trial::took(double seconds) {
    if (calls_++ >= candidates_.size())
        times_.push_back(seconds);
    if (calls_ == kTurnCalls * candidates_.size())
        state_ = State::agreeing;
}

std::vector<double> Trial::sorted(std::size_t candidate) const {
    std::vector<double> found;
    for (std::size_t i = candidate; i < times_.size(); i += candidates_.size())
        found.push_back(times_[i]);
    std::sort(found.begin(), found.end());
    return found;
}

void Trial::decide() {
    const double cheapest = sorted(0)[kCountedCalls / 2];
    double least = cheapest * kMarginFactor;
    why_ = "measured over " + std::to_string(kCountedCalls) + " calls each:";
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const std::vector<double> took = sorted(i);
        const double median = took[kCountedCalls / 2];
        medians_.push_back({candidates_[i], median});
        why_.append(i == 0 ? " " : ", ").append(candidates_[i]).append(" ");
        why_ += select::time_in_words(median);
        if (i > 0 && median < least && took[kMostSlowerCalls - 1] < cheapest) {
            least = median;
            chosen_ = i;
        }
    }
    state_ = State::over;
    times_ = {};
}

} // namespace stretto::tuning
