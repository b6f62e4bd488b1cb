// SPDX-License-Identifier: BSD-3-Clause
// What the arbiter's agent has learned of the prices of calls to which ranks come at different
// times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "select/elapsed.hpp"
#include "select/experience.hpp"
#include "select/late.hpp"

namespace stretto::comm {

// A call that was served as told: what served, when ranks came, and what it took then.
struct Lesson {
    std::string algorithm;
    std::vector<int> order;
    select::Arrivals came;
    double elapsed = 0; // seconds, the mean over ranks; not a number if it is not known
};

// Of calls of one kind; of the agent's thread.
class Lessons {
public:
    // After a decision this rests for so many times as long as it took.
    explicit Lessons(std::uint64_t rest = 8) : rest_(rest) {}

    // By calls that the usual served.
    select::Experience &usual() { return usual_; }
    void learn(const Lesson &lesson, const select::Situation &situation);
    // By those, and by the last of each algorithm that were served as told.
    select::Experience all() const;

    // Whether it pays to price what serves so many ranks that wait so long, in seconds, if nothing
    // new does: that takes one core as long as it took the last time, and all ranks together save a
    // part of their waits at best.  Whoever is refused again and again is not in the end.
    bool pays(double waits, std::size_t ranks);
    // The last decision was so lately that what is told of single calls is not worth another: where
    // no processor is free for it all ranks are slower for it, and then it takes long.
    bool rests() const;
    // Decides, and remembers how long that took.
    select::Late priced(const std::function<select::Late()> &decide);

private:
    static constexpr std::size_t kMost = 8;
    std::uint64_t rest_;
    select::Experience usual_;
    // Measured / priced, by the name without parameters.
    std::map<std::string, std::deque<double>, std::less<>> told_;
    double pricing_ = 0;     // seconds of a processor
    std::uint64_t next_ = 0; // by now_ns(): nothing is priced before
};

} // namespace stretto::comm
