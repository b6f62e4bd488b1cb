// SPDX-License-Identifier: BSD-3-Clause
// The plans of a communicator, each made once.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/config.hpp"
#include "calls/chosen.hpp"
#include "calls/plan_inputs.hpp"
#include "calls/request.hpp"
#include "calls/selection.hpp"
#include "engine/plan.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::calls {

class PlanCache {
public:
    // The segment and the selection outlive this.
    PlanCache(const Config::Calls &config, transport::Segment &segment, int rank,
              const Selection &selection);

    // The plan of such a call; makes it if there is none.  Before the first plan, which may touch
    // rings, the segment opens them.  `made`: the plan, if another thread has made it.  Throws
    // Error(memory), or an error that says why there is no such plan.
    const engine::Plan &plan(const Request &request, const Chosen &chosen, Planned made = nullptr);
    // The plan of such a call, or null if none has been made.
    std::shared_ptr<const engine::Plan> known_plan(const Request &request,
                                                   const Chosen &chosen) const;
    // The plan of an internal call of this name.
    const engine::Plan &plan(const std::string &name, const std::function<Planned()> &make);
    // The plan of a call in which the engine moves nothing.
    const engine::Plan &empty_plan();
    // The values from which any thread can make plans of such a call, for any algorithm.
    PlanInputs inputs(const Request &request) const;

    std::size_t bytes() const { return bytes_; }
    // Whether the plans take more than STRETTO_PLAN_BYTES.
    bool full() const { return bytes_ > most_bytes_; }
    void clear();

private:
    std::string key_of(const Request &request, const Chosen &chosen) const;
    Planned make(const Request &request, const Chosen &chosen) const;

    transport::Segment &segment_;
    const int rank_;
    const Selection &selection_;
    const std::size_t most_bytes_;
    std::map<std::string, std::shared_ptr<const engine::Plan>> plans_;
    std::size_t bytes_ = 0;
    std::set<std::string> logged_; // keys of logged plans, also if the plan was forgotten
    Planned empty_;
};

} // namespace stretto::calls
