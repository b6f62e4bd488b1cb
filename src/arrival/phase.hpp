// SPDX-License-Identifier: BSD-3-Clause
// How long this rank computes between collectives, and how long after the first it will come.
//
// Source: Proficz 2018, section 3.1: a thread that is told of the middle of a computation expects
// its end as late after the middle as that was after the beginning.  Here the program may tell of
// any part of it, as often as it likes.  Of the last calls it is known how long after the first
// this rank came (history.hpp), and so how long after the beginning of its phase the first did:
// that hardly depends on how long this rank itself has computed, whose phases may be as unlike as
// they like.
//
// Programs may make several calls in turns, each with a phase of its own length before it.  Which
// call comes is what came the last time after the one before, as far as these are calls that end
// phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace stretto::arrival {

class Phase {
public:
    // Calls that count, of which the median is when the first comes; and how many there must have
    // been.
    static constexpr std::size_t kCalls = 7, kFewestCalls = 3;
    // The number of no call.
    static constexpr std::uint64_t kNone = 0;

    // Nanoseconds of a clock that does not go back.  If no call has ended the last phase, one did
    // that ends none, such as the barrier of an epoch: it has its place among those that take
    // turns.
    void begin(std::uint64_t now);
    // The call that is to end the phase, or kNone.
    std::uint64_t coming() const { return coming_; }
    struct Foreseen {
        std::uint64_t end;
        std::int64_t late; // nanoseconds after the first rank comes
    };
    // This part of the phase is done, above 0 and up to 1; nothing if there is no phase, or it is
    // not known yet when the first comes to the call that ends it.
    std::optional<Foreseen> edge(std::uint64_t now, double fraction);
    // The call that ends a phase, by a number of its own.  Whether edge() was called in it.
    bool end(std::uint64_t now, std::uint64_t call);
    // To that call this rank has come so many nanoseconds after the first, as it shows.
    void came(std::int64_t late);

private:
    void follow(std::uint64_t call);

    bool begun_ = false, edges_ = false;
    std::uint64_t start_ = 0;
    std::uint64_t latest_ = kNone, coming_ = kNone;
    std::map<std::uint64_t, std::uint64_t> next_; // by call: what came after it
    struct Ended {
        std::uint64_t call;
        std::int64_t duration;
    };
    std::optional<Ended> ended_; // of which it is not known when the first came
    // By call, nanoseconds from the beginning of the phase until the first came, the latest last.
    std::map<std::uint64_t, std::deque<std::int64_t>> firsts_;
};

} // namespace stretto::arrival
