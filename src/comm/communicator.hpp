// SPDX-License-Identifier: BSD-3-Clause
// The communicator: a rank's view of its job, and the collectives it can call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "arrival/arrival_hooks.hpp"
#include "arrival/call_report.hpp"
#include "arrival/job_clock.hpp"
#include "base/config.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/join.hpp"
#include "calls/calls.hpp"
#include "comm/call_trace.hpp"
#include "comm/exchanges.hpp"
#include "comm/membership.hpp"
#include "engine/queue.hpp"
#include "p2p/messenger.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/segment.hpp"
#include "tuning/trials.hpp"

namespace stretto::comm {

class Communicator {
public:
    // The config outlives this.
    Communicator(const Config &config, const bootstrap::Identity &identity,
                 const bootstrap::ParentContext *origin = nullptr);
    // Waits for no other rank; abandons calls in flight.
    ~Communicator() { queue_.leave(); } // which needs plans and entries until then

    int rank() const { return me_.rank; }
    int size() const { return me_.size; }
    const Config &config() const { return config_; }
    const bootstrap::Identity &identity() const { return me_; }
    // Whether it is the job's own: the one that stretto_init made, or what a shrink made of that.
    bool of_job() const { return of_job_; }
    const bootstrap::JobContext &reach() const { return joined_.reach; }

    // Runs a call to its end, and gives its number, as the engine counts.
    std::uint64_t play(const calls::Request &request);
    // Starts a call; complete() waits for its end.
    engine::Queue::InFlightCall *start(const calls::Request &request);
    void complete(engine::Queue::InFlightCall *flight);
    // Makes the plan of a call, so that the call itself need not make it.
    void prepare(const calls::Request &request);
    std::string chosen(const calls::Request &request);
    // A barrier is an allreduce of a number that no rank looks at.
    calls::Request barrier_request() {
        return {.collective = schedule::Collective::barrier,
                .input = &token_[0],
                .output = &token_[1],
                .count = 1,
                .dtype = Dtype::i32};
    }
    std::uint64_t barrier() { return play(barrier_request()); }
    // A collective in which each pair of ranks alone knows what travels between them.
    Exchanges::Begun exchange(const Exchange &what);
    // A caller has waited for an exchange.  It came to the call at that time of now_ns().
    void record_exchange(schedule::Collective collective, std::uint64_t came);

    // How many calls of callers are complete, from the first on without a gap; after quiesce().
    std::uint64_t completed() const { return calls_.internal.completed_by_callers(); }
    calls::Stats stats();
    void reset_stats();

    // Runs a part of a collective call.  If it fails on this rank alone, for want of memory for
    // instance, the error is posted as the failure of the communicator: the other ranks would wait
    // for this one.  Errors of the call's arguments (argument, unsupported) are not posted: all
    // ranks get the same.
    template<class Body>
    decltype(auto) together(Body &&body) {
        const bool late = failure_reported_.load(std::memory_order_relaxed);
        try {
            return body();
        } catch (...) {
            fail_together(late);
        }
    }
    // The same, where an exception is handled.  `late`: a caller saw a failure before this call.
    [[noreturn]] void fail_together(bool late);
    // A background operation returned this error to the caller, which may be the failure.
    void note_reported(const Error &error) noexcept;
    // Throws Error(revoked) if a caller has seen a failure.
    void check_usable();
    // After a failure: when this returns, no thread of this rank writes to callers' memory.
    void quiesce();

    // Waits until all ranks have made this child of `origin`, if it has ranks on several hosts: a
    // rank may have failed to make it.
    void await_members(const bootstrap::ParentContext &origin);
    // On the job's own communicator, before any other call: all ranks agree on the speeds of the
    // network.  Throws as any collective does, on all ranks.
    void learn_network();
    // Adds the queues of messages to the report, and writes the trace of this rank if this is the
    // job's own communicator.  Throws Error.
    void finish_files();

    // The parts.  A thread that uses calls(), trials() or phases() holds the queue's order().
    const std::shared_ptr<transport::Segment> &segment() const { return segment_; }
    transport::Heap &heap() { return heap_; }
    engine::Notices &notices() { return notices_; }
    p2p::Messenger &messenger() { return messenger_; }
    engine::Engine &engine() { return engine_; }
    engine::Queue &queue() { return queue_; }
    calls::Calls &calls() { return calls_; }
    const calls::Calls &calls() const { return calls_; }
    Exchanges &exchanges() { return exchanges_; }
    const tuning::Trials &trials() const { return trials_; }
    arrival::Phases &phases() { return arrivals_.phases(); }
    const arrival::JobClock &clock() const { return clock_; }
    const CallTrace &trace() const { return trace_; }
    const arrival::CallReport &report() const { return report_; }

private:
    std::uint64_t play_since(std::uint64_t came, const calls::Request &request);
    std::uint64_t play_hooked(std::uint64_t came, const calls::Request &request);
    [[noreturn]] void post_failure(bool late);

    const Config &config_;
    const bootstrap::Identity me_;
    const bool of_job_;
    CallTrace trace_; // which the linked peers' thread uses
    bootstrap::Joined joined_;
    const std::shared_ptr<transport::Segment> segment_;
    const Membership membership_;
    const arrival::JobClock clock_;
    trace::Recorder *const recorder_; // null: no trace is wanted
    arrival::CallReport report_;
    transport::Heap heap_;
    engine::Notices notices_;
    p2p::Messenger messenger_;
    engine::Engine engine_;
    engine::Queue queue_;
    calls::Calls calls_;
    Exchanges exchanges_;
    tuning::Trials trials_;
    arrival::ArrivalHooks arrivals_;
    std::mutex hooked_;                          // of calls with hooks
    std::int32_t token_[2] = {0, 0};             // what a barrier reduces
    const Error exhausted_;                      // no memory, made while there is some
    std::atomic<bool> failure_reported_ = false; // to a caller: from now on calls are refused
};

} // namespace stretto::comm
