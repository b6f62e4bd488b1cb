// SPDX-License-Identifier: BSD-3-Clause
// The queue of calls in flight, and the progress thread, which moves them while the caller
// computes.  The thread that holds the lock moves calls: the caller while it waits, otherwise the
// progress thread.  The progress thread is started by the first nonblocking call.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/engine.hpp"
#include "engine/failure.hpp"
#include "engine/progress_wakeup.hpp"

namespace stretto::engine {

class Queue {
public:
    struct InFlightCall {
        Run run;
        Tally *tally = nullptr;
        bool complete = false;
        bool urgent = false; // the progress thread moves it at once if its caller does not
        std::optional<Error> error;
    };

    explicit Queue(Engine &engine, transport::Segment &segment, int rank)
        : engine_(engine), segment_(segment), rank_(rank),
          exhausted_(no_memory(segment.names().of(rank))), plain_(!engine.traced()) {}
    ~Queue() { leave(); }

    // Abandons calls that are still in flight: when this returns, no thread needs their plans and
    // memory.
    void leave();

    // A blocking call.  If there is neither a progress thread nor a trace, the engine plays it
    // directly.
    void play(const Call &call, Tally &tally) {
        if (plain_) [[likely]]
            engine_.play(call, tally);
        else
            play_in_turn(call, tally);
    }

    // Plays a call and a second one beside it, which all ranks begin after the first; `played` is
    // called when the first is complete.  The caller waits for both, so this needs no thread.
    void play_with(const Call &call, Tally &tally, const Call &beside, Tally &its_tally,
                   const std::function<void()> &played);

    // The in-flight call belongs to the queue; give it back with complete().
    InFlightCall *start(const Call &call, Tally &tally);
    bool test(InFlightCall &flight);
    void wait(InFlightCall &flight);
    // Waits, and throws the error of the call, if it has one.  An error while any thread moves
    // calls is the error of all calls in flight and of the communicator.
    void finish(InFlightCall *flight);

    // The communicator has failed: when this returns, no call in flight moves any more.
    void abandon();

    // Releases the plans of all earlier calls; false if one is still needed.
    bool forget();

    // Runs `body` while no call in flight moves.
    void while_still(const std::function<void()> &body);

private:
    class Driver; // takes the lock from the progress thread

    void play_in_turn(const Call &call, Tally &tally);
    void run_thread();
    ProgressWakeup::Left left() const;
    bool drive();
    void fail_all();
    void drain();
    void end_all(const Error &error);
    void wait_locked(InFlightCall &flight);
    void finish_locked(InFlightCall *flight);
    std::optional<Error> give_back(InFlightCall *flight);
    InFlightCall *launch(const Call &call, Tally &tally);

    Engine &engine_;
    transport::Segment &segment_;
    const int rank_;
    const Error exhausted_;
    bool plain_; // there is neither a progress thread nor a trace
    std::thread thread_;
    std::mutex mutex_;
    ProgressWakeup wakeup_;
    std::size_t in_flight_ = 0;          // started and not completed
    std::vector<InFlightCall *> active_; // oldest first
    std::vector<std::unique_ptr<InFlightCall>> pool_;
    std::vector<InFlightCall *> idle_;
};

} // namespace stretto::engine
