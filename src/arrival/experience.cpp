// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/experience.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/medians.hpp"

namespace stretto::arrival {

// A measurement that says more was disturbed.
static constexpr double kMostFactor = 4;

static constexpr std::string_view kDetected = "detected ";

std::string when_detected(std::string_view algorithm) {
    return std::string(kDetected).append(algorithm);
}

static std::string_view family(std::string_view algorithm) {
    return algorithm.substr(0, algorithm.find('('));
}

double wait(const cost::Arrivals &arrivals) {
    return *std::ranges::max_element(arrivals) -
           std::accumulate(arrivals.begin(), arrivals.end(), 0.0) /
               static_cast<double>(arrivals.size());
}

std::optional<double> ratio_of(const cost::Arrivals &arrivals, double priced, double measured) {
    const double certain = wait(arrivals);
    const double ratio = (measured - certain) / (priced - certain);
    return std::isfinite(ratio) ? std::optional(std::clamp(ratio, 1 / kMostFactor, kMostFactor))
                                : std::nullopt;
}

std::vector<double> corrected(std::vector<double> priced, std::span<const cost::Arrivals> cases,
                              double factor) {
    for (std::size_t i = 0; i < priced.size(); ++i) {
        const double certain = wait(cases[i]);
        priced[i] = certain + factor * (priced[i] - certain);
    }
    return priced;
}

void Experience::learn(std::string_view algorithm, std::span<const cost::Arrivals> cases,
                       std::span<const double> priced, std::span<const double> measured) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < cases.size(); ++i)
        if (const auto ratio = ratio_of(cases[i], priced[i], measured[i]))
            ratios.push_back(*ratio);
    if (ratios.empty())
        return;
    learn(algorithm, median(std::move(ratios)));
}

void Experience::learn(std::string_view algorithm, double ratio) {
    const auto [at, is_new] = factors_.try_emplace(std::string(family(algorithm)), ratio);
    if (!is_new) // slowly
        at->second = std::sqrt(at->second * ratio);
}

bool Experience::knows(std::string_view algorithm) const {
    return factors_.contains(family(algorithm));
}

double Experience::factor(std::string_view algorithm) const {
    if (const auto found = factors_.find(family(algorithm)); found != factors_.end())
        return found->second;
    double sum = 0, count = 0;
    for (const auto &[name, factor] : factors_)
        if (algorithm.starts_with(kDetected) || !name.starts_with(kDetected)) {
            sum += std::log(factor);
            ++count;
        }
    return count > 0 ? std::exp(sum / count) : 1;
}

} // namespace stretto::arrival
