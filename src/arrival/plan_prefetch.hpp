// SPDX-License-Identifier: BSD-3-Clause
// The plan of a call to come, which is made while its rank computes.
//
// What runs the call is decided some time before ranks come, and there may be no plan of it yet:
// if ranks come at random, each call has an order of ranks of its own.  To make a plan takes
// milliseconds; if the last rank took them, all others would wait.  So a thread in the background
// makes the plan.  A rank that comes meanwhile waits for that; a rank that comes before makes the
// plan itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/plan.hpp"

namespace stretto::arrival {

class PlanPrefetch {
public:
    struct Prepared {
        std::string algorithm = {};
        std::vector<int> order = {};
        std::unique_ptr<const engine::Plan> plan; // null: there is none
    };

    // The rank has left a call; the next one has this key.
    void expect(std::uint64_t key);
    // By another thread: prepares it, unless the rank has come.  What that throws, the rank will
    // find for itself.
    void prepare(std::uint64_t key, const std::function<Prepared()> &make);
    // The rank has come: what was prepared, after the time that it takes if it has been begun.
    Prepared come(std::uint64_t key);

private:
    enum class State { expected, begun, done, over };

    std::mutex mutex_;
    std::condition_variable done_;
    std::uint64_t key_ = 0;
    State state_ = State::over;
    Prepared prepared_;
};

} // namespace stretto::arrival
