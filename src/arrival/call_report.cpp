// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/call_report.hpp"

#include <new>
#include <utility>

#include "base/clock.hpp"
#include "calls/call_descriptor.hpp"
#include "calls/call_entry.hpp"
#include "calls/call_words.hpp"

namespace stretto::arrival {

class CallReport::Hook final : public calls::CallHook {
public:
    explicit Hook(CallReport &report) : report_(report) {}

    Then before(calls::HookedCall &call) override {
        noted_ = call.came != 0;
        if (noted_)
            calls_of(call).begin(call.came, report_.offset_at(call.came));
        return Then::next;
    }
    void after(calls::HookedCall &) override {
        if (noted_)
            calls_->end(now_ns());
    }
    void starts(calls::HookedCall &call) override {
        CallLog::Calls &calls = calls_of(call);
        starting_ = {&calls, calls.begin_beside(call.came, report_.offset_at(call.came))};
    }
    void started(calls::HookedCall &, const Flight *flight) override {
        starting_.calls->started(starting_.call, now_ns());
        try {
            report_.running_.insert_or_assign(flight, starting_);
        } catch (const std::bad_alloc &) { // it has begun and does not end, in the report
        }
    }

private:
    CallLog::Calls &calls_of(const calls::HookedCall &call) {
        if (calls_ == nullptr)
            calls_ = &report_.calls_of(call.entry.packed, call.request.count,
                                       call.entry.plan->vector_bytes);
        return *calls_;
    }

    CallReport &report_;
    bool noted_ = false; // the blocking call in progress
    Running starting_{};
    CallLog::Calls *calls_ = nullptr; // null: none so far
};

CallReport::CallReport(std::shared_ptr<CallLog> log, RankIdentity me, const JobClock &clock)
    : log_(std::move(log)), me_(std::move(me)), clock_(clock),
      on_(log_ != nullptr && me_.ranks > 1) {}

std::unique_ptr<calls::CallHook> CallReport::hook_for(const calls::Request &, calls::Chosen &) {
    return on_ ? std::make_unique<Hook>(*this) : nullptr;
}

// What to add to this rank's clock at that time to get the job's.  To ask takes a lock, so it is
// asked now and then: clocks drift by some microseconds in a second.
std::int64_t CallReport::offset_at(std::uint64_t now) {
    constexpr std::uint64_t kEveryNs = 100'000'000; // ns
    if (clock_.compared() && now >= look_again_) {
        offset_ = clock_.offset().value_or(kUnknown);
        look_again_ = now + kEveryNs;
    }
    return offset_;
}

CallLog::Calls &CallReport::calls_of(std::uint64_t what, std::uint64_t count,
                                     std::uint64_t bytes) const {
    const trace::CallWords of_call = calls::trace_words(what);
    CallKind kind;
    kind.communicator = me_.job_id;
    kind.communicator_name = me_.job;
    kind.rank = me_.rank;
    kind.size = me_.ranks;
    kind.collective = of_call.collective;
    if ((what & calls::kNonblockingFlag) != 0)
        kind.collective.insert(0, "nonblocking ");
    if (of_call.by_pairs)
        kind.collective += "v";
    else if (of_call.has_data)
        kind.dtype = stretto::words(of_call.dtype);
    if (of_call.reduces)
        kind.op = name(of_call.op);
    kind.root = of_call.by_pairs ? -1 : of_call.root;
    kind.count = of_call.has_data ? count : 0;
    kind.bytes = of_call.has_data ? bytes : 0;
    return log_->of(kind);
}

void CallReport::ended(const Flight *flight, std::uint64_t came) {
    if (const auto running = running_.extract(flight); !running.empty())
        running.mapped().calls->end_beside(running.mapped().call, came, now_ns());
}

void CallReport::note_exchange(schedule::Collective collective, std::uint64_t came,
                               std::uint64_t left) {
    CallLog::Calls *&calls = exchanges_[collective];
    if (calls == nullptr)
        calls = &calls_of(static_cast<std::uint64_t>(collective) | calls::kByPairsFlag, 0, 0);
    calls->begin(came, offset_at(came));
    calls->end(left);
}

} // namespace stretto::arrival
