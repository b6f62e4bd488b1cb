// SPDX-License-Identifier: BSD-3-Clause
#include "matching/player.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace stretto::matching {

namespace {

constexpr std::size_t kParts = 64;

// The clock after all that stands before has been done; a processor may read it earlier otherwise,
// and then a short operation seems to take no time.
std::uint64_t ticks_when_done() {
#if defined(__x86_64__)
    _mm_lfence();
#endif
    return now_ticks();
}

// What two readings with nothing between them tell: the median of many.
std::uint64_t ticks_of_nothing() {
    std::vector<std::uint64_t> ticks(1001);
    for (std::uint64_t &each : ticks) {
        const std::uint64_t begin = ticks_when_done();
        each = ticks_when_done() - begin;
    }
    const auto middle = ticks.begin() + 500;
    std::nth_element(ticks.begin(), middle, ticks.end());
    return *middle;
}

double percentile_ns(std::vector<std::uint64_t> &ticks, double part) {
    if (ticks.empty())
        return 0;
    const auto rank = ticks.begin() + static_cast<std::ptrdiff_t>(
                                          part * static_cast<double>(ticks.size() - 1) + 0.5);
    std::nth_element(ticks.begin(), rank, ticks.end());
    return static_cast<double>(*rank) * ns_per_tick();
}

} // namespace

Player::Player(const Sequence &sequence)
    : sequence_(sequence), receives_(sequence.receives), messages_(sequence.messages),
      results_(sequence.operations.size()) {}

Checked Player::check(p2p::Matcher &matcher) {
    Checked checked;
    for (const Operation &operation : sequence_.operations) {
        // After a wrong result a queue may lack what a later operation withdraws.
        if (number_of(operation, play(matcher, operation)) != operation.partner) {
            checked.wrong = 1;
            break;
        }
        checked.bytes = std::max(checked.bytes, matcher.bytes());
    }
    checked.effort = matcher.effort();
    checked.posted = matcher.posted_scheme();
    checked.unexpected = matcher.unexpected_scheme();
    return checked;
}

Timed Player::time(p2p::Matcher &matcher) {
    const std::size_t count = sequence_.operations.size();
    const std::size_t parts = std::min(kParts, count);
    std::vector<std::uint64_t> ticks(parts + 1);
    ticks[0] = ticks_when_done();
    for (std::size_t part = 0, i = 0; part < parts; ++part) {
        for (const std::size_t end = (part + 1) * count / parts; i < end; ++i)
            results_[i] = play(matcher, sequence_.operations[i]);
        ticks[part + 1] = ticks_when_done();
    }
    Timed timed{std::vector<double>(parts), wrong_results()};
    for (std::size_t part = 0; part < parts; ++part)
        timed.ns[part] = static_cast<double>(ticks[part + 1] - ticks[part]) * ns_per_tick();
    return timed;
}

Tail Player::time_each(p2p::Matcher &matcher) {
    const std::uint64_t nothing = ticks_of_nothing();
    std::vector<std::uint64_t> ticks;
    ticks.reserve(sequence_.matches);
    for (std::size_t i = 0; i < sequence_.operations.size(); ++i) {
        const Operation &operation = sequence_.operations[i];
        if (!operation.matches()) {
            results_[i] = play(matcher, operation);
            continue;
        }
        const std::uint64_t begin = ticks_when_done();
        results_[i] = play(matcher, operation);
        const std::uint64_t taken = ticks_when_done() - begin;
        ticks.push_back(taken - std::min(taken, nothing));
    }
    return {percentile_ns(ticks, 0.5), percentile_ns(ticks, 0.99), wrong_results()};
}

const p2p::Item *Player::play(p2p::Matcher &matcher, const Operation &operation) {
    const auto number = static_cast<std::size_t>(operation.number);
    switch (operation.kind) {
    case Kind::post:
        receives_[number].envelope = operation.envelope;
        return matcher.post(receives_[number]);
    case Kind::arrive:
        messages_[number].envelope = operation.envelope;
        return matcher.arrive(messages_[number]);
    case Kind::find: return matcher.find(operation.envelope);
    case Kind::withdraw: matcher.withdraw(receives_[number]); return nullptr;
    }
    return nullptr;
}

std::int32_t Player::number_of(const Operation &operation, const p2p::Item *item) const {
    if (item == nullptr)
        return kNone;
    // Only a message that arrives is matched with a receive.
    if (operation.kind == Kind::arrive)
        return static_cast<std::int32_t>(static_cast<const Slot<p2p::PostedReceive> *>(item) -
                                         receives_.data());
    return static_cast<std::int32_t>(static_cast<const Slot<p2p::ArrivedMessage> *>(item) -
                                     messages_.data());
}

std::size_t Player::wrong_results() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < results_.size(); ++i) {
        const Operation &operation = sequence_.operations[i];
        wrong += number_of(operation, results_[i]) == operation.partner ? 0 : 1;
    }
    return wrong;
}

} // namespace stretto::matching
