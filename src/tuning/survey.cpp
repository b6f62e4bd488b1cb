// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/survey.hpp"

#include <algorithm>
#include <cmath>

namespace stretto::tuning {

using select::kBytes, select::kLatencies, select::kOverheads;

namespace {

constexpr std::uint32_t kFirstSmallBytes = 8u << 10, kFirstLargeBytes = 24u << 10;
// More than any bucket that we have met, together.
constexpr std::uint32_t kMiddleSmallBytes = 64u << 10, kMiddleLargeBytes = 192u << 10;
constexpr std::uint32_t kLeastSmallBytes = 4u << 10, kMostSmallBytes = 256u << 10;
constexpr std::uint32_t kLargeToSmallFactor = 4; // of the last streams, large to small
constexpr double kQuickSeconds = 3e-3;   // seconds of a stream after which a longer one is tried
constexpr double kEnoughSeconds = 60e-3; // that the last streams may take, if three rounds fit

// The one below which this part of them lies.
double quantile(std::vector<double> times, double part) {
    if (times.empty())
        return 0;
    const auto at =
        times.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), at, times.end());
    return *at;
}

// Disturbances make these longer, never shorter.  On crowded hosts most are disturbed; but a single
// one may be of a moment that does not come again.
double of_messages(const std::vector<double> &times) {
    return quantile(times, 1.0 / 8);
}

// Those that a disturbance preceded find a full bucket, and are shorter.
double of_streams(const std::vector<double> &times) {
    return quantile(times, 1.0 / 2);
}

std::uint32_t as_many(double left, double each, std::uint32_t most) {
    if (each * most <= left)
        return most;
    return left <= 0 ? 0 : static_cast<std::uint32_t>(left / each);
}

double pieces(std::uint32_t bytes, std::size_t slice) {
    return std::ceil(static_cast<double>(bytes) / static_cast<double>(slice));
}

} // namespace

double Survey::round_trip() const {
    return of_messages(pings_);
}

double Survey::burst() const {
    return of_messages(bursts_);
}

// For plans: at least that of a memory, whatever the times say.
double Survey::per_byte() const {
    constexpr double kFastestSecondsPerByte = 1e-11;
    if (times_.large.empty())
        return kFastestSecondsPerByte;
    const double large = *std::min_element(times_.large.begin(), times_.large.end());
    return std::max((large - round_trip()) / last_.large, kFastestSecondsPerByte);
}

Probe Survey::streams(double left) const {
    const double each = per_byte();
    const auto fitting = [&](std::uint32_t lead, std::uint32_t rounds, double most) {
        for (std::uint32_t small = kMostSmallBytes; small >= kLeastSmallBytes; small /= 2) {
            const double large = round_trip() + kLargeToSmallFactor * small * each;
            if (lead * large + rounds * (large + round_trip() + small * each) <= most)
                return Probe{.lead = lead,
                             .rounds = rounds,
                             .small = small,
                             .large = kLargeToSmallFactor * small};
        }
        return kNoProbe;
    };
    // On a fast link disturbances are longer than streams, and streams cost little.
    if (const Probe often = fitting(1, 9, std::min(left, kEnoughSeconds / 4));
        often.small == kMostSmallBytes)
        return often;
    Probe probe = fitting(1, 3, std::min(left, kEnoughSeconds));
    if (probe == kNoProbe)
        probe = fitting(1, 1, left / 2); // nobody needs to wait for more
    if (probe == kNoProbe)
        probe = fitting(1, 1, left);
    if (probe == kNoProbe)
        probe = fitting(0, 1, left); // the last long one was not long ago
    return probe;
}

Probe Survey::next(double left) {
    if (!begun_) {
        begun_ = true;
        return {.pings = 3,
                .rounds = 1,
                .small = kFirstSmallBytes,
                .large = kFirstLargeBytes,
                .bursts = 1};
    }
    if (over_)
        return kNoProbe;
    const double quick = times_.large.empty() ? 0 : times_.large.back() - round_trip();
    if (last_.large < kMiddleLargeBytes && quick < kQuickSeconds && left > kEnoughSeconds) {
        // Two, since one that is disturbed would make the link seem slow.
        Probe more{.rounds = 2, .small = kMiddleSmallBytes, .large = kMiddleLargeBytes};
        repeat(more, left);
        return more;
    }
    over_ = true;
    Probe last = streams(left);
    repeat(last, left);
    return last;
}

// Once, what is short, if it is.
void Survey::repeat(Probe &probe, double left) {
    if (repeated_)
        return;
    repeated_ = true;
    probe.pings = as_many(left / 16, round_trip(), 24);
    probe.bursts = as_many(left / 16, burst(), 4);
}

void Survey::took(const Probe &probe, const Times &times) {
    // The first of all finds caches and connections cold.
    const bool first = pings_.empty() && times.pings.size() > 1;
    pings_.insert(pings_.end(), times.pings.begin() + (first ? 1 : 0), times.pings.end());
    bursts_.insert(bursts_.end(), times.bursts.begin(), times.bursts.end());
    if (probe.rounds == 0)
        return;
    last_ = probe;
    times_ = times;
}

cost::Link Survey::link(const cost::Link &assumed, std::size_t slice, std::string &how) const {
    cost::Link found = assumed;
    std::string lacking;
    const auto lack = [&](const char *what) {
        lacking += lacking.empty() ? "; assumed: " : ", ";
        lacking += what;
    };
    how = std::to_string(pings_.size()) + " round trips, " + std::to_string(bursts_.size()) +
          " bursts, streams of " + std::to_string(last_.small >> 10) + " and " +
          std::to_string(last_.large >> 10) + " KiB";
    // What a message costs its sender is part of what it takes.
    const double alpha = round_trip() / 2;
    const double overhead = std::clamp((burst() - round_trip()) / (kBurstMessages - 1), 0.0, alpha);
    if (pings_.empty() || alpha == 0 || !kLatencies.hold(alpha - overhead))
        lack("latency");
    else
        found.latency = alpha - overhead;
    if (pings_.empty() || bursts_.empty() || alpha == 0 || !kOverheads.hold(overhead))
        lack("overhead");
    else
        found.overhead = overhead;
    const double longer =
        of_streams(times_.large) - of_streams(times_.small) -
        found.overhead * (pieces(last_.large, slice) - pieces(last_.small, slice));
    const double byte = last_.large > last_.small ? longer / (last_.large - last_.small) : 0;
    if (kBytes.hold(byte))
        found.byte = byte;
    else
        lack("byte");
    how += lacking;
    return found;
}

} // namespace stretto::tuning
