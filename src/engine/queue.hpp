// SPDX-License-Identifier: BSD-3-Clause
// The calls in flight: those that threads of this rank have begun and that have not ended.
//
// A thread begins a call while it holds the call order.  A blocking call that no other is in flight
// with is played at once; if another thread comes while it waits, it joins the calls in flight.
// These are moved by whichever thread holds the queue's lock: callers that wait, each of which
// moves all calls and sleeps without the lock; or, while no caller is there, the progress thread,
// which the first nonblocking call starts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/call_order.hpp"
#include "engine/engine.hpp"
#include "engine/failure.hpp"
#include "engine/gate.hpp"
#include "engine/notices.hpp"
#include "engine/progress_wakeup.hpp"

namespace stretto::engine {

class Queue {
public:
    struct InFlightCall {
        Run *run = nullptr;
        Tally *tally = nullptr;
        bool complete = false;
        bool urgent = false; // the progress thread moves it at once if its caller does not
        std::optional<Error> error;
        Notice *notice = nullptr;   // null: none is wanted
        std::shared_ptr<Gate> gate; // null: there is none, or the call has ended
        Run own;                    // unused in a blocking call that was played at once
    };

    // All outlive the queue.
    Queue(Engine &engine, transport::Segment &segment, int rank, Notices &notices);
    ~Queue() { leave(); }

    // Abandons calls that are still in flight: when this returns, no thread needs their plans and
    // memory.
    void leave();

    // A thread that calls play(), play_with(), start() or forget() holds it.
    CallOrder &order() { return order_; }

    // A blocking call.  If nothing is in flight, the engine plays it directly.  May give up the
    // call order while it waits.
    void play(const Call &call, Tally &tally, CallOrder::Hold &order) {
        Run *run = nullptr;
        const bool direct = direct_.load(std::memory_order_acquire);
        if (direct) [[likely]] {
            run = engine_.play(call, tally, give_up_);
            if (run == nullptr) [[likely]]
                return;
        }
        play_on(call, tally, order, run);
    }

    // Plays a call and a second one beside it, which all ranks begin after the first; `played` is
    // called when the first is complete.  The caller waits for both, so this needs no thread.
    void play_with(const Call &call, Tally &tally, const Call &beside, Tally &its_tally,
                   const std::function<void()> &played, CallOrder::Hold &order);

    // The in-flight call belongs to the queue; give it back with finish().
    InFlightCall *start(const Call &call, Tally &tally, std::shared_ptr<Gate> gate = nullptr);
    // Any threads may call these for different calls.
    bool test(InFlightCall &flight);
    void wait(InFlightCall &flight);
    // Waits until all calls have ended.  No thread begins one meanwhile.
    void wait_for_all();
    // Waits, and throws the error of the call, if it has one.  An error while any thread moves
    // calls is the error of all calls in flight and of the communicator.
    void finish(InFlightCall *flight);

    // Takes over the notice, which is posted when the call has ended.
    void notify(InFlightCall &flight, Notice *notice);

    // The communicator has failed: when this returns, no call in flight moves any more.
    void abandon();

    // Releases the plans of all earlier calls; false if one is still needed.
    bool forget();

    // Runs `body` while no call in flight moves.
    void while_still(const std::function<void()> &body);

private:
    class Driver;  // a caller in the queue
    class Waiting; // of a caller for a call

    void play_on(const Call &call, Tally &tally, CallOrder::Hold &order, Run *begun);
    void run_thread();
    ProgressWakeup::Left left() const;
    bool drive();
    static void require_wait(const InFlightCall &flight);
    void fail_all();
    void drain();
    void end_gates();
    void end_all(const Error &error);
    std::optional<Error> give_back(InFlightCall *flight);
    void add(InFlightCall &flight, Run &run, const Call &call, Tally &tally);
    InFlightCall *launch(const Call &call, Tally &tally, std::shared_ptr<Gate> gate = nullptr);
    void ended(InFlightCall &flight);
    void wake_others();

    Engine &engine_;
    std::atomic<bool> direct_; // only a thread that holds the call order touches the engine
    const std::function<bool()> give_up_; // other threads of this rank come, or are to be told
    CallOrder order_;
    transport::Segment &segment_;
    const int rank_;
    Notices &notices_;
    const Error exhausted_;
    std::mutex mutex_; // guards all below, and the engine unless direct_
    std::thread thread_;
    ProgressWakeup wakeup_;
    std::size_t in_flight_ = 0;          // not given back
    std::vector<InFlightCall *> active_; // and not complete; oldest first
    std::vector<std::unique_ptr<InFlightCall>> pool_;
    std::vector<InFlightCall *> idle_;
    InFlightCall played_;        // a call that the engine played directly at first
    bool played_in_use_ = false; // played_ is in flight
};

} // namespace stretto::engine
