// SPDX-License-Identifier: BSD-3-Clause
// Calls that the library makes for itself, to measure or to let ranks agree.  They take their turn
// among the calls of callers.  Statistics and the number of a caller's calls leave them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calls/plan_cache.hpp"
#include "engine/queue.hpp"
#include "schedule/schedule.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::calls {

// The size of an element, and of a slice, of an internal call that a schedule runs.
inline constexpr std::size_t kInternalElementBytes = 8;
inline constexpr std::size_t kInternalSliceBytes = 65536;

class InternalCalls {
public:
    // How many calls are complete, without a gap.
    using Completed = std::function<std::uint64_t()>;

    // All of these outlive this.
    InternalCalls(const transport::Segment &segment, int rank, engine::Engine &engine,
                  engine::Queue &queue, PlanCache &plans, Completed completed)
        : segment_(segment), rank_(rank), engine_(engine), queue_(queue), plans_(plans),
          completed_(std::move(completed)) {}

    // Counts the call `ahead` calls after the next one as internal.
    void count_next(std::uint64_t ahead = 0);
    // The costs of internal calls, which no statistics show.
    engine::Tally &tally() { return tally_; }

    // Runs the schedule that `make` gives, under this name, on whole elements.  Before the first
    // call of a caller.
    using MakeSchedule = std::function<schedule::Schedule()>;
    void play(const std::string &name, const MakeSchedule &make, void *data, std::size_t bytes);

    // The communicator is made: all calls so far were internal ones.
    void callers_begin() { first_call_ = engine_.calls(); }
    // How many calls of callers are complete.
    std::uint64_t completed_by_callers() const;

private:
    const transport::Segment &segment_;
    const int rank_;
    engine::Engine &engine_;
    engine::Queue &queue_;
    PlanCache &plans_;
    const Completed completed_;
    engine::Tally tally_;
    std::uint64_t first_call_ = 0;
    // Internal calls: how many are older than every call that is not complete, and the numbers of
    // the others.
    std::uint64_t before_ = 0;
    std::vector<std::uint64_t> numbers_;
};

} // namespace stretto::calls
