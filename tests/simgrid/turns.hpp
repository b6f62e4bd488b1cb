// SPDX-License-Identifier: BSD-3-Clause
// Ports that are single: which of the messages that could start does.
//
// SimGrid has links that concurrent messages share.  The model has ports that they take in turns,
// both at once, and while a message waits for one it does not hold the other.  So whoever is about
// to receive a message asks here, and is let go by one actor that sees all who wait.
#pragma once

#include <cstdint>
#include <set>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::test {

// Seconds.  Who is first among those that could start at one moment is known when the moment is
// over, so all start this much later; links are as much faster (make_hosts), so that nothing adds
// up.  It is less than any two times of the cases differ by, and more than what doubles err by.
inline constexpr double kMoment = 1e-12;

class Turns {
public:
    // `connections`: what takes turns are not the ports of a position but the messages from one
    // position to another, as on a connection between the two.
    Turns(simgrid::s4u::Host *where, schedule::Position ranks, bool connections);

    // For actors: returns when the message has both ports, which it then holds.  `index`: of its
    // send in its program.
    void take(schedule::Position from, schedule::Position to, std::int32_t index);
    void give_back(schedule::Position from, schedule::Position to);

private:
    struct Waiting {
        std::int64_t since; // picoseconds
        std::int32_t index;
        schedule::Position from, to;
        simgrid::s4u::Semaphore *go; // of the actor that waits

        bool operator<(const Waiting &other) const {
            return std::tie(since, index, from, to) <
                   std::tie(other.since, other.index, other.from, other.to);
        }
    };

    void look_later();
    void look();
    std::size_t out(schedule::Position from, schedule::Position to) const;
    std::size_t in(schedule::Position from, schedule::Position to) const;

    std::set<Waiting> waiting_; // who goes first is first
    std::size_t ranks_;
    bool connections_;
    std::vector<bool> sending_, receiving_; // by out() and in()
    simgrid::s4u::SemaphorePtr wake_ = simgrid::s4u::Semaphore::create(0);
    bool woken_ = false;
};

} // namespace stretto::test
