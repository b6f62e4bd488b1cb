// SPDX-License-Identifier: BSD-3-Clause
#include "select/correction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/numbering.hpp"
#include "base/status.hpp"

namespace stretto::select {

namespace {

// The logarithms of seconds, by size, of one algorithm.
class Curve {
public:
    void add(const Timing &timing) {
        Point &point = points_[timing.bytes];
        point.sum += std::log(timing.seconds);
        point.number += 1;
    }

    // What `value` makes of a size and the logarithm of the seconds there, near `bytes`.
    std::optional<double> near(std::size_t bytes,
                               const std::function<double(std::size_t, double)> &value) const {
        const auto of = [&](auto point) {
            return value(point->first, point->second.sum / point->second.number);
        };
        const auto above = points_.lower_bound(bytes);
        if (above != points_.end() && above->first == bytes)
            return of(above);
        const auto below = above == points_.begin() ? points_.end() : std::prev(above);
        const auto apart = [](std::size_t small, std::size_t large) { // of sizes, in logarithms
            return std::log(static_cast<double>(large)) -
                   std::log(static_cast<double>(std::max<std::size_t>(small, 1)));
        };
        const bool both = below != points_.end() && above != points_.end();
        if (both &&
            apart(below->first, above->first) <= std::log(kMostApartFactor) + kRoundingTolerance) {
            const double part = apart(below->first, bytes) / apart(below->first, above->first);
            return of(below) * (1 - part) + of(above) * part;
        }
        if (below != points_.end() &&
            apart(below->first, bytes) <= std::log(kMostBeyondFactor) + kRoundingTolerance)
            return of(below);
        if (above != points_.end() &&
            apart(bytes, above->first) <= std::log(kMostBeyondFactor) + kRoundingTolerance)
            return of(above);
        return std::nullopt;
    }

private:
    static constexpr double kRoundingTolerance = 1e-9;
    struct Point {
        double sum = 0, number = 0;
    };
    std::map<std::size_t, Point> points_;
};

// What was measured of such calls, by algorithm.
std::map<std::string, Curve> curves(const Situation &s) {
    std::map<std::string, Curve> found;
    const Measured wanted{s.collective, s.ranks, s.hosts, numbered_in_order(s.host_of), {}};
    for (const Measured &each : s.profile.calls)
        if (each.alike(wanted))
            for (const Timing &timing : each.times)
                found[timing.algorithm].add(timing);
    return found;
}

// The logarithm of the price of a candidate at another size; nothing if it cannot be had.
std::optional<double> log_price(const algorithms::Choice &choice, Situation &s, std::size_t bytes) {
    s.bytes = std::max((bytes + s.element - 1) / s.element, std::size_t{1}) * s.element;
    try {
        const double seconds = price_of(make(choice, s), s).seconds;
        return seconds > 0 ? std::optional(std::log(seconds)) : std::nullopt;
    } catch (const Error &error) {
        if (error.status() != Status::unsupported)
            throw;
        return std::nullopt; // it takes too long to price
    }
}

} // namespace

std::vector<Correction> corrections(const Situation &s, const std::vector<Priced> &all) {
    const std::map<std::string, Curve> known = curves(s);
    if (known.empty())
        return {};
    Situation elsewhere = s; // of another size
    elsewhere.profile.calls.clear();
    std::vector<Correction> result(all.size());
    double sum = 0, number = 0; // of logarithms
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto curve = known.find(all[i].name);
        if (!all[i].excluded.empty() || curve == known.end() || all[i].price.seconds <= 0)
            continue;
        bool priced = true;
        const auto found = curve->second.near(s.bytes, [&](std::size_t bytes, double seconds) {
            const std::optional<double> price = bytes == s.bytes
                                                    ? std::log(all[i].price.seconds)
                                                    : log_price(all[i].choice, elsewhere, bytes);
            priced = priced && price.has_value();
            return seconds - price.value_or(0);
        });
        if (!found || !priced)
            continue;
        result[i] = {std::exp(*found), true};
        sum += *found;
        number += 1;
    }
    if (number == 0)
        return {};
    for (Correction &each : result)
        if (!each.measured)
            each.factor = std::exp(sum / number);
    return result;
}

std::optional<double> measured_seconds(const Situation &s, const std::string &algorithm) {
    const std::map<std::string, Curve> known = curves(s);
    const auto curve = known.find(algorithm);
    if (curve == known.end())
        return std::nullopt;
    const auto found = curve->second.near(s.bytes, [](std::size_t, double time) { return time; });
    return found ? std::optional(std::exp(*found)) : std::nullopt;
}

std::optional<Choice> faster_as_measured(const Situation &s, const std::string &otherwise) {
    constexpr double kClearlyFactor = 0.95;
    const std::optional<double> usual = measured_seconds(s, otherwise);
    if (!usual)
        return std::nullopt;
    std::string fastest;
    double least = *usual * kClearlyFactor;
    for (const auto &[algorithm, curve] : curves(s)) {
        const auto found = curve.near(s.bytes, [](std::size_t, double time) { return time; });
        if (found && std::exp(*found) < least &&
            unoffered(algorithms::parse(s.collective, algorithm), s).empty()) {
            least = std::exp(*found);
            fastest = algorithm;
        }
    }
    if (fastest.empty())
        return std::nullopt;
    return Choice{fastest, "fastest as measured near this size: " + time_in_words(least) + ", " +
                               otherwise + " " + time_in_words(*usual) + "; " + s.profile.source};
}

} // namespace stretto::select
