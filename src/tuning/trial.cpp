// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/trial.hpp"

#include <algorithm>
#include <utility>

#include "base/medians.hpp"
#include "select/select.hpp"

namespace stretto::tuning {

void Trial::begin(std::vector<std::string> candidates) {
    candidates_ = std::move(candidates);
    calls_ = 0;
    state_ = candidates_.size() < 2 ? State::over : State::screening;
}

Trial::Turn Trial::turn() const {
    if (state_ == State::confirming)
        return {confirmed_[calls_ % confirmed_.size()], true,
                calls_ + 1 == kConfirmedCalls * confirmed_.size()};
    // The call before a turn is the one that the turn is compared with.
    const std::size_t others = candidates_.size() - 1, number = (calls_ + 1) / kEveryCalls;
    const bool is_turn = calls_ % kEveryCalls == 0, is_before = (calls_ + 1) % kEveryCalls == 0;
    return {is_turn ? 1 + number % others : 0, (is_turn || is_before) && number >= others,
            is_turn && number + 1 == (1 + kScreenedCalls) * others};
}

void Trial::took(double seconds) {
    const Turn now = turn();
    if (now.counts)
        times_.push_back(seconds);
    agrees_ = now.is_last;
    ++calls_;
}

std::vector<double> Trial::times_of(std::size_t first, std::size_t every) const {
    std::vector<double> found;
    for (std::size_t i = first; i < times_.size(); i += every)
        found.push_back(times_[i]);
    return found;
}

void Trial::decide() {
    const std::size_t calls = state_ == State::screening ? kScreenedCalls : kConfirmedCalls;
    state_ == State::screening ? end_screening() : end_confirmation();
    if (state_ == State::over) {
        why_ = "measured over " + std::to_string(calls) + " calls each:";
        for (const Median &each : medians_)
            if (each.calls >= calls)
                why_.append(&each == medians_.data() ? " " : ", ")
                    .append(each.algorithm)
                    .append(" ")
                    .append(select::time_in_words(each.seconds));
    }
    agrees_ = false;
    calls_ = 0;
    times_ = {};
}

void Trial::end_screening() {
    const std::size_t others = candidates_.size() - 1;
    const std::vector<double> cheapest = times_of(0, 2);
    medians_.push_back({candidates_[0], stretto::median(cheapest), cheapest.size()});
    confirmed_ = {0};
    for (std::size_t i = 0; i < others; ++i) {
        const std::vector<double> took = times_of(2 * i + 1, 2 * others);
        medians_.push_back({candidates_[i + 1], stretto::median(took), took.size()});
        if (*std::ranges::min_element(took) < kPromisingFactor * medians_[0].seconds)
            confirmed_.push_back(i + 1);
    }
    state_ = confirmed_.size() == 1 ? State::over : State::confirming;
}

void Trial::end_confirmation() {
    double least = 0, cheapest = 0;
    for (std::size_t i = 0; i < confirmed_.size(); ++i) {
        const std::vector<double> took = times_of(i, confirmed_.size());
        Median &found = medians_[confirmed_[i]];
        found = {candidates_[confirmed_[i]], stretto::median(took), took.size()};
        if (i == 0) {
            cheapest = found.seconds;
            least = kMarginFactor * cheapest;
            continue;
        }
        const auto slower =
            std::ranges::count_if(took, [&](double seconds) { return seconds >= cheapest; });
        if (found.seconds < least && static_cast<std::size_t>(slower) <= kMostSlowerCalls) {
            least = found.seconds;
            chosen_ = confirmed_[i];
        }
    }
    state_ = State::over;
}

} // namespace stretto::tuning
