// SPDX-License-Identifier: BSD-3-Clause
// The parts of a communicator that make its calls.
#pragma once

#include <string>
#include <utility>

#include "base/config.hpp"
#include "calls/call_cache.hpp"
#include "calls/call_policy.hpp"
#include "calls/internal_calls.hpp"
#include "calls/plan_cache.hpp"
#include "calls/selection.hpp"
#include "calls/shares.hpp"
#include "engine/queue.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::calls {

struct Calls {
    // `job` is the communicator's name.  The segment, the heap, the engine and the queue outlive
    // this.
    Calls(const Config::Calls &config, transport::Segment &segment, int rank,
          const std::string &job, const transport::Heap &heap, engine::Engine &engine,
          engine::Queue &queue, InternalCalls::Completed completed)
        : policies(segment.ranks(), rank, segment.names().of(rank)),
          selection(config, segment, rank, policies, job), plans(config, segment, rank, selection),
          cache({segment, rank, heap, queue, policies, shares, selection, plans}),
          internal(segment, rank, engine, queue, plans, std::move(completed)) {}
    Calls(const Calls &) = delete;
    Calls &operator=(const Calls &) = delete;

    Shares shares; // counts of each rank
    CallPolicies policies;
    Selection selection;
    PlanCache plans;
    CallCache cache;
    InternalCalls internal;
};

} // namespace stretto::calls
