// SPDX-License-Identifier: BSD-3-Clause
// How long this rank computes between collectives, and how far it will be from its habit this time.
//
// Source: Proficz 2018, section 3.1: a thread that is told of the middle of a computation expects
// its end as late after the middle as that was after the beginning.  Here the program may tell of
// any part of it, as often as it likes.  What others hear is only how far this rank will be from
// what it takes usually: when it usually comes they know from the last calls (history.hpp), so
// clocks need not be compared, and who keeps to his habit has nothing to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace stretto::arrival {

class Phase {
public:
    // Phases that count, of which the median is what is usual; and how many there must have been.
    static constexpr std::size_t kPhases = 7, kFewest = 3;

    // Nanoseconds of a clock that does not go back.
    void begin(std::uint64_t now);
    struct Foreseen {
        std::uint64_t end;
        std::int64_t later; // nanoseconds after its usual end
    };
    // This part of the phase is done, above 0 and up to 1; nothing if there is no phase, or no
    // habit yet.
    std::optional<Foreseen> edge(std::uint64_t now, double fraction);
    // The call that ends a phase, by a number of its own; phases that end in another one than the
    // last are a new habit.  Whether edge() was called in it.
    bool end(std::uint64_t now, std::uint64_t call);

private:
    bool begun_ = false, edges_ = false;
    std::uint64_t start_ = 0;
    std::uint64_t call_ = 0;              // that ended the last phase
    std::deque<std::uint64_t> durations_; // nanoseconds, the latest last
};

} // namespace stretto::arrival
