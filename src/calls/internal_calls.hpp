// SPDX-License-Identifier: BSD-3-Clause
// Calls that the library makes for itself: what it measures, what ranks agree on.  They take their
// turn among the calls of callers; neither statistics nor a caller's count of calls has them.
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

// The elements of an internal call by a schedule are of this size, and travel in such slices.
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

    // The next call is one, or that which so many others come before.
    void count_next(std::uint64_t ahead = 0);
    // Where internal calls are tallied, which nobody asks for.
    engine::Tally &tally() { return tally_; }

    // Plays a schedule that `make` makes, and that has this name, on whole elements.
    using MakeSchedule = std::function<schedule::Schedule()>;
    void play(const std::string &name, const MakeSchedule &make, void *data, std::size_t bytes);

    // Calls so far were made while the communicator was: none of them is a caller's.
    void callers_begin() { first_call_ = engine_.calls(); }
    // Calls of callers that are complete.
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
    // How many are below all calls that are not complete, and the numbers of later ones.
    std::uint64_t before_ = 0;
    std::vector<std::uint64_t> numbers_;
};

} // namespace stretto::calls
