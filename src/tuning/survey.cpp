// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/survey.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace stretto::tuning {

using select::kBytes, select::kLatencies, select::kOverheads;

namespace {

constexpr std::uint32_t kFirstSmallBytes = 8u << 10, kFirstLargeBytes = 24u << 10;
// More than any bucket that we have met, together.
constexpr std::uint32_t kMiddleSmallBytes = 64u << 10, kMiddleLargeBytes = 192u << 10;
constexpr std::uint32_t kLeastSmallBytes = 4u << 10, kMostSmallBytes = 256u << 10;
constexpr std::uint32_t kLargeToSmallFactor = 4; // of the last streams, large to small
constexpr std::uint32_t kGrowthFactor = 4;       // of streams after which longer ones seem possible
constexpr std::uint32_t kOftenRounds = 9;        // where streams cost little
constexpr double kNearlyAllFactor = 32;  // round trips in a round, of which bytes are nearly all
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

// A short stream and the long one after it.
std::vector<double> of_rounds(const Times &times) {
    std::vector<double> rounds;
    std::transform(times.small.begin(), times.small.end(), times.large.begin(),
                   std::back_inserter(rounds), std::plus<>());
    return rounds;
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
    if (const Probe often = fitting(1, kOftenRounds, std::min(left, kEnoughSeconds / 4));
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
    Probe more;
    if (streamed_ == 0 && last_.large < kMiddleLargeBytes && quick < kQuickSeconds &&
        left > kEnoughSeconds) {
        // Two, since one that is disturbed would make the link seem slow.
        more = {.rounds = 2, .small = kMiddleSmallBytes, .large = kMiddleLargeBytes};
    } else {
        more = longest(left);
        streamed_ = more.small;
        over_ = more == kNoProbe;
    }
    repeat(more, left);
    return more;
}

// A sender that stands still makes the link seem slow, and so streams short enough for the bucket,
// in which nothing is found.  So if they took less than they might have, longer ones follow.
Probe Survey::longest(double left) const {
    Probe probe = streams(left);
    if (streamed_ == 0)
        return probe;
    const double took = last_.rounds * (last_.small + last_.large) * per_byte();
    if (probe.small <= streamed_ || took > kEnoughSeconds / 4)
        return kNoProbe;
    probe.small = std::min(probe.small, kGrowthFactor * streamed_);
    probe.large = kLargeToSmallFactor * probe.small;
    return probe;
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

// In the difference of a long and a short stream all drops out that is the same in both, so it is
// right where bytes are little of their time.  But a stream that stands still while the bucket
// fills is long, and the next one short: on a slow link, where bytes are nearly all and streams are
// few, those of a round count together, in which one makes up for the other.
double Survey::seconds_per_byte(double overhead, std::size_t slice) const {
    if (last_.large <= last_.small)
        return 0;
    const double short_pieces = pieces(last_.small, slice),
                 long_pieces = pieces(last_.large, slice);
    const double round = of_streams(of_rounds(times_));
    if (last_.rounds < kOftenRounds && round_trip() > 0 &&
        round > kNearlyAllFactor * round_trip()) {
        const double others = 2 * round_trip() + overhead * (long_pieces + short_pieces - 2);
        return (round - others) / (last_.large + last_.small);
    }
    const double longer = of_streams(times_.large) - of_streams(times_.small) -
                          overhead * (long_pieces - short_pieces);
    return longer / (last_.large - last_.small);
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
    const double byte = seconds_per_byte(found.overhead, slice);
    if (kBytes.hold(byte))
        found.byte = byte;
    else
        lack("byte");
    how += lacking;
    return found;
}

} // namespace stretto::tuning
