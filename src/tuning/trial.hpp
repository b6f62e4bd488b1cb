// SPDX-License-Identifier: BSD-3-Clause
// A price is as good as its model.  Calls that repeat correct it: after a few of them the
// candidates whose price is close take turns, and the one that was fastest stays.
//
//   calls      1 ... 8          9             10          11         12            13 ...
//   serves     the cheapest     the cheapest  the second  the third  the cheapest  the second ...
//
// Ranks never decide alone.  Which candidate serves is a function of the call's number; which was
// the fastest is decided when all have had their turns, from times that all ranks have agreed on:
// of each call the most of all ranks.  It contains what ranks come late, which is the same for all
// candidates in the end; so another takes the place of the cheapest only if it was clearly faster:
// its median by a tenth, and most of its calls faster than the median of the cheapest.  The first
// turn of each, which makes plans and warms up, does not count.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stretto::tuning {

class Trial {
public:
    static constexpr std::size_t kBeforeCalls =
        8;                                       // calls, as what is called seldom is not worth it
    static constexpr std::size_t kTurnCalls = 8; // of each candidate
    static constexpr std::size_t kCountedCalls = kTurnCalls - 1;
    static constexpr std::size_t kMostSlowerCalls = kCountedCalls - 2; // calls of seven
    static constexpr double kMarginFactor = 0.9;

    enum class State { waiting, trying, agreeing, over };
    State state() const { return state_; }

    // Another call begins; after the last that waits, begin() is due.
    bool due() { return state_ == State::waiting && ++calls_ > kBeforeCalls; }
    // The cheapest first.  With one there is nothing to try.
    void begin(std::vector<std::string> candidates);
    // Which serves this call; or, when it is over, all.
    const std::string &serve();
    // Which served the last one: what else is planned for the same calls meanwhile goes by it, on
    // all ranks alike.  null: none yet.
    const std::string *served() const {
        return candidates_.size() < 2 || served_ == kNone ? nullptr : &candidates_[served_];
    }
    // How long the call took on this rank, in seconds.  After the last one ranks have to agree.
    void took(double seconds);

    // Turn by turn one for each candidate; all ranks together take the most of each number.
    std::vector<double> &times() { return times_; }
    // Ends the trial.
    void decide();
    // "measured over 7 calls each: ring 8.3 ms, circulant 9.1 ms"
    const std::string &why() const { return why_; }
    // What came of it, of each candidate.
    struct Median {
        std::string algorithm;
        double seconds;
    };
    const std::vector<Median> &medians() const { return medians_; }

private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    std::vector<double> sorted(std::size_t candidate) const;

    State state_ = State::waiting;
    std::size_t calls_ = 0; // while waiting, then of the trial
    std::size_t chosen_ = 0, served_ = kNone;
    std::vector<std::string> candidates_;
    std::vector<double> times_;
    std::string why_;
    std::vector<Median> medians_;
};

} // namespace stretto::tuning
