// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/cost_feedback.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/clock.hpp"
#include "base/medians.hpp"
#include "select/placed.hpp"

namespace stretto::arrival {

void CostFeedback::record(CostSample sample) {
    if (!std::isfinite(sample.elapsed))
        return;
    // The first such call fills what it needs, memory and windows: it says little of later ones.
    const auto [of, is_first] =
        announced_.try_emplace(std::string(algorithms::name_in(sample.algorithm)));
    if (is_first)
        return;
    std::deque<PricedSample> &samples = of->second;
    samples.push_back({std::move(sample), {}});
    if (samples.size() > kMostSamples)
        samples.pop_front();
}

// Measured / priced of each, which is found only now that it is asked for: a price takes as long as
// some messages.
Experience CostFeedback::all(const select::Situation &situation) {
    Experience experience = steady_;
    for (auto &[algorithm, samples] : announced_) {
        std::vector<double> ratios;
        for (PricedSample &each : samples) {
            if (const std::optional<CostSample> sample = std::exchange(each.unpriced, {})) {
                const select::Placed placed(situation, sample->algorithm, sample->order);
                const std::vector<cost::Arrivals> cases{sample->came};
                each.ratio = ratio_of(sample->came, placed.means(cases).front(), sample->elapsed);
            }
            if (each.ratio)
                ratios.push_back(*each.ratio);
        }
        if (!ratios.empty()) // one call that was disturbed counts for little
            experience.learn(algorithm, median(std::move(ratios)));
    }
    return experience;
}

bool CostFeedback::pays(double waits, std::size_t ranks) {
    constexpr double kWaitsShare = 0.25, kDecayFactor = 0.875;
    if (kWaitsShare * waits * static_cast<double>(ranks) >= pricing_)
        return true;
    pricing_ *= kDecayFactor;
    return false;
}

Late CostFeedback::priced(Kind kind, double waits, double error, const Late &selected,
                          const std::function<Late()> &decide) {
    const std::uint64_t start = thread_processor_ns(); // a busy machine makes no price dearer
    const std::uint64_t began = now_ns();
    Late late = decide();
    pricing_ = 1e-9 * static_cast<double>(thread_processor_ns() - start);
    using enum Backoff::Outcome;
    Backoff::Outcome outcome = gained;
    if (late.same_as(selected) && (kind == call || late.algorithm.empty()))
        outcome = useless;
    else if (kind == call && best_ &&
             algorithms::name_in(best_->algorithm) == algorithms::name_in(late.algorithm))
        outcome = as_before;
    backoffs_[kind].begin(began, now_ns(), waits, outcome);
    if (kind == call)
        best_ =
            outcome == useless ? std::nullopt : std::optional(Best{late.algorithm, waits, error});
    return late;
}

std::optional<std::string> CostFeedback::still_best(double waits, double error,
                                                    double margin) const {
    constexpr double kAlikeFactor = 2;
    if (!best_ || waits > kAlikeFactor * best_->waits || best_->waits > kAlikeFactor * waits ||
        error > std::max(margin, kAlikeFactor * best_->error))
        return std::nullopt;
    return best_->algorithm;
}

bool Backoff::over(double waits) const {
    constexpr double kNewFactor = 2;
    return now_ns() >= end_ || (in_row_ > 0 && waits > kNewFactor * waits_);
}

void Backoff::begin(std::uint64_t from, std::uint64_t to, double waits, Outcome outcome) {
    const bool news = outcome == Outcome::gained;
    waits_ = news ? 0 : std::max(waits_, waits);
    in_row_ = news ? 0
                   : std::min(in_row_ + 1, outcome == Outcome::useless ? kMostDoublings
                                                                       : kMostAsBeforeDoublings);
    end_ = to + (to - from) * (news ? after_gain_ : times_ << in_row_);
}

} // namespace stretto::arrival
