// SPDX-License-Identifier: BSD-3-Clause
// The hook by which a rank writes its calls into the report of late ranks (call_log.hpp).  All
// entries have it if a report is wanted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "arrival/call_log.hpp"
#include "arrival/job_clock.hpp"
#include "base/rank_file.hpp"
#include "calls/call_hook.hpp"
#include "engine/queue.hpp"

namespace stretto::arrival {

// A thread that uses it holds the call order.
class CallReport final : public calls::HookSource {
public:
    using Flight = engine::Queue::InFlightCall;

    // `log` null: no report is wanted.  `me`: this rank of the communicator, as files name it.
    // The clock outlives this.
    CallReport(std::shared_ptr<CallLog> log, RankIdentity me, const JobClock &clock);

    // A rank that is alone is never late.
    bool on() const { return on_; }
    const std::shared_ptr<CallLog> &log() const { return log_; }

    std::unique_ptr<calls::CallHook> hook_for(const calls::Request &request,
                                              calls::Chosen &chosen) override;

    // A nonblocking call has ended, for which its caller began to wait at `came`.
    void ended(const Flight *flight, std::uint64_t came);
    // A call whose counts pairs of ranks know alone: of one kind, as far as others know.
    void note_exchange(schedule::Collective collective, std::uint64_t came, std::uint64_t left);

private:
    class Hook;

    std::int64_t offset_at(std::uint64_t now);
    CallLog::Calls &calls_of(std::uint64_t what, std::uint64_t count, std::uint64_t bytes) const;

    const std::shared_ptr<CallLog> log_;
    const RankIdentity me_;
    const JobClock &clock_;
    const bool on_;
    std::map<schedule::Collective, CallLog::Calls *> exchanges_;
    // Nonblocking calls that run.
    struct Running {
        CallLog::Calls *calls;
        CallLog::Calls::Running call;
    };
    std::map<const Flight *, Running> running_;
    std::int64_t offset_ = kUnknown; // of this rank's clock, and
    std::uint64_t look_again_ = 0;   // when to look at it anew
};

} // namespace stretto::arrival
