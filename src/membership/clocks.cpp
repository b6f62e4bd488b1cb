// SPDX-License-Identifier: BSD-3-Clause
#include "membership/clocks.hpp"

#include <algorithm>

namespace stretto::membership {

namespace {

// The drift between two free-running quartz clocks: 50 parts in a million, so 1 ns in 20,000.
constexpr std::uint64_t kDriftDivisor = 20'000;

// a - b, of two clocks whose zeros may be far apart.
std::int64_t difference(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a - b);
}

// Without overflow.
std::int64_t mean(std::int64_t a, std::int64_t b) {
    return a / 2 + b / 2 + (a % 2 + b % 2) / 2;
}

std::uint64_t distance(std::int64_t a, std::int64_t b) {
    return a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                 : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
}

} // namespace

void ClockFilter::add(const ClockReading &reading) {
    if (reading.back < reading.sent || reading.left < reading.arrived ||
        reading.left - reading.arrived > reading.back - reading.sent)
        return;
    const std::uint64_t way = (reading.back - reading.sent) - (reading.left - reading.arrived);
    entries_[count_++ % entries_.size()] = {
        mean(difference(reading.arrived, reading.sent), difference(reading.left, reading.back)),
        (way + 1) / 2, reading.back};
}

std::optional<Offset> ClockFilter::estimate(std::uint64_t now) const {
    std::optional<Offset> best;
    for (std::size_t i = 0; i < std::min(count_, entries_.size()); ++i) {
        const Entry &entry = entries_[i];
        const std::uint64_t age = now > entry.at ? now - entry.at : 0;
        const std::uint64_t error = entry.error + age / kDriftDivisor;
        if (!best || error < best->error)
            best = Offset{entry.offset, error};
    }
    return best;
}

ClockTable::ClockTable(int ranks) : reported_(static_cast<std::size_t>(ranks)) {}

void ClockTable::report(int rank, const Offset &offset) {
    reported_[static_cast<std::size_t>(rank)] = offset;
}

std::optional<Offsets> ClockTable::publish(int reference, const RankSet &members) {
    reported_[static_cast<std::size_t>(reference)] = Offset{};
    Offsets next{std::max(least_version_, latest_ ? latest_->version + 1 : 0), reference,
                 latest_ ? latest_->of_rank : std::vector<std::int64_t>(reported_.size())};
    bool changed = !latest_ || latest_->reference != reference;
    for (const int rank : members) {
        const auto &reported = reported_[static_cast<std::size_t>(rank)];
        if (!reported)
            return std::nullopt;
        std::int64_t &offset = next.of_rank[static_cast<std::size_t>(rank)];
        if (!changed && distance(offset, reported->offset) > reported->error)
            changed = true;
        offset = reported->offset;
    }
    if (!changed)
        return std::nullopt;
    hold(next);
    return next;
}

void ClockTable::hold(const Offsets &offsets) {
    if (latest_ && offsets.version <= latest_->version)
        return;
    previous_ = std::move(latest_);
    latest_ = offsets;
}

void ClockTable::start_over(std::uint32_t epoch) {
    std::ranges::fill(reported_, std::nullopt);
    least_version_ = epoch << 20;
}

std::optional<Offsets> ClockTable::version(std::uint32_t version) const {
    for (const auto *each : {&latest_, &previous_})
        if (*each && (*each)->version == version)
            return *each;
    return std::nullopt;
}

} // namespace stretto::membership
