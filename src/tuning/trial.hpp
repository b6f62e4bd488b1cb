// SPDX-License-Identifier: BSD-3-Clause
// A price is as good as its model.  Calls that repeat correct it: after a few of them the other
// candidates whose price is close run a call now and then, and one that is clearly faster stays.
//
//     call    1 ... 8         9        10 ... 13      14      15 ... 18      19       20 ... 23 ...
//     plan    the cheapest    second   the cheapest   third   the cheapest   second   the cheapest
//
// Callers pay for a trial, by what other candidates are slower.  So it has two stages:
//
//     screening      each candidate runs three calls, far apart.  The first one fills memory and
//                    windows, and does not count
//     confirmation   only those that promise a gain take turns with the cheapest, seven calls each
//
// No rank decides alone.  Which candidate runs a call is a function of the call's number.  Which
// was the fastest is decided at the end of a stage, by times that all ranks have agreed on: of each
// call the longest of all ranks.  A late rank makes such a time longer, whatever runs the call.
// So another candidate takes the place of the cheapest only if it was clearly faster: its median by
// a tenth, and most of its calls faster than the median of the cheapest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stretto::tuning {

class Trial {
public:
    // What is called seldom is not worth a trial.
    static constexpr std::size_t kBeforeCalls = 8;
    // Screening: how often another candidate runs a call, and how many of each one's count.
    static constexpr std::size_t kEveryCalls = 5, kScreenedCalls = 2;
    static constexpr std::size_t kConfirmedCalls = 7; // of each
    // Of those: how many may be slower than the median of the cheapest.
    static constexpr std::size_t kMostSlowerCalls = kConfirmedCalls - 5;
    static constexpr double kPromisingFactor = 0.95, kMarginFactor = 0.9;

    enum class State { waiting, screening, confirming, over };
    State state() const { return state_; }
    // Calls run, of which some may be by other candidates than the cheapest.
    bool trying() const { return state_ == State::screening || state_ == State::confirming; }

    // Another call begins; after the last that waits, begin() is due.
    bool due() { return state_ == State::waiting && ++waited_ > kBeforeCalls; }
    // Some calls before that, the candidates should be found and their plans made.
    bool near() const { return state_ == State::waiting && waited_ == kBeforeCalls / 2; }
    // The cheapest first.  With one there is nothing to try.
    void begin(std::vector<std::string> candidates);

    // While it tries: what runs the next call; another one than runs most calls has its turn.
    bool is_turn() const { return turn().candidate != chosen_; }
    const std::string &next() const { return candidates_[turn().candidate]; }
    // What runs calls that are no turn, and all when it is over; null: nothing is known of it.
    const std::string *standing() const {
        return candidates_.size() < 2 ? nullptr : &candidates_[chosen_];
    }
    // How long that call took on this rank, in seconds.
    void took(double seconds);

    // The stage is at its end, and ranks have to agree on its times, the longest of each.
    bool agrees() const { return agrees_; }
    std::vector<double> &times() { return times_; }
    // Ends the stage.
    void decide();

    // "measured over 7 calls each: ring 8.3 ms, circulant 9.1 ms"
    const std::string &why() const { return why_; }
    // What came of it, of each candidate.
    struct Median {
        std::string algorithm;
        double seconds;
        std::size_t calls;
    };
    const std::vector<Median> &medians() const { return medians_; }

private:
    struct Turn {
        std::size_t candidate;
        bool counts, is_last;
    };
    Turn turn() const;
    // Of the times, from the first of them on one of so many.
    std::vector<double> times_of(std::size_t first, std::size_t every) const;
    void end_screening();
    void end_confirmation();

    State state_ = State::waiting;
    std::size_t waited_ = 0; // calls
    std::size_t calls_ = 0;  // of the stage
    std::size_t chosen_ = 0;
    bool agrees_ = false;
    std::vector<std::string> candidates_;
    std::vector<std::size_t> confirmed_; // those that are, the cheapest first
    // Of calls that count: in the screening one of the cheapest and one of another in turn.
    std::vector<double> times_;
    std::string why_;
    std::vector<Median> medians_;
};

} // namespace stretto::tuning
