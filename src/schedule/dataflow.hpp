// SPDX-License-Identifier: BSD-3-Clause
// Plays one path of a schedule with zero buffering: the order of events, without their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/knowledge.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// All positions at one value of the token: programs, waits and pairs of messages.
//
// Ops are played level by level.  Level 0 has the ops that wait for no message.  A message is one
// level above everything that its send and its receive wait for.  A local op is on the highest
// level of the things that it waits for.  So the number of levels is the length of the longest
// dependent chain.
class Dataflow {
public:
    // Throws Error(argument) if the schedule is not well formed or its messages do not pair.
    explicit Dataflow(const Schedule &schedule, std::int32_t token_value = 0);

    struct Observer {
        virtual ~Observer() = default;
        // A message without bytes is not sent: its ops end on their own level.
        virtual bool travels(const Op &send) const;
        virtual void message(OpRef send, OpRef recv);
        virtual void local(OpRef op);
    };

    // Reports all events to the observer, each after everything that it waits for, and returns the
    // number of levels (of messages).  Throws Error(argument) at a deadlock, naming the ops that
    // wait for one another.
    std::int64_t play(Observer &observer) const;

    Position ranks() const { return static_cast<Position>(paths_.size()); }
    const std::vector<std::vector<Op>> &paths() const { return paths_; }
    const Op &op(OpRef ref) const;
    std::string describe(OpRef ref) const;

private:
    class Player;

    std::vector<std::vector<Op>> paths_;
    Waits before_;                                   // dependencies()
    Waits dependents_;                               // the other way round
    std::vector<std::vector<std::int32_t>> partner_; // match()
    Knowledge knowledge_;
};

} // namespace stretto::schedule
