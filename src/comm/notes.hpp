// SPDX-License-Identifier: BSD-3-Clause
// What a communicator needs to note its calls for the report of who comes late (reporting.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "arrival/call_log.hpp"
#include "arrival/history.hpp"
#include "engine/queue.hpp"
#include "schedule/contract.hpp"

namespace stretto::comm {

struct Notes {
    std::shared_ptr<arrival::CallLog> log; // null: no report is wanted
    // Of calls whose counts pairs of ranks know alone.
    std::map<schedule::Collective, arrival::CallLog::Calls *> exchanges = {};
    // Nonblocking calls that run.
    struct Running {
        arrival::CallLog::Calls *calls;
        arrival::CallLog::Calls::Running call;
    };
    std::map<const engine::Queue::InFlightCall *, Running> running = {};
    std::int64_t offset = arrival::kUnknown; // of this rank's clock, and
    std::uint64_t look_again = 0;            // when to look at it anew
};

} // namespace stretto::comm
