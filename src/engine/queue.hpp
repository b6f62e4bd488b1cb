// SPDX-License-Identifier: BSD-3-Clause
// Calls in flight, and the thread that moves them while the caller computes.
//
// Whoever holds the lock drives: the caller while it waits, else the progress thread.  Until the
// first nonblocking call there is no thread.
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
        bool urgent = false; // the thread is to move it at once when its caller does not
        std::optional<Error> error;
    };

    explicit Queue(Engine &engine, transport::Segment &segment, int rank)
        : engine_(engine), segment_(segment), rank_(rank),
          exhausted_(no_memory(segment.names().of(rank))), plain_(!engine.traced()) {}
    ~Queue() { leave(); }

    // Abandons what is still in flight: when this returns, nobody needs its plans and memory.
    void leave();

    void play(const Call &call, Tally &tally);

    // Plays a call and another beside it, which all ranks begin behind it; `played` is called in
    // between, when the former is done.  The caller stays with both, so this needs no thread.
    void play_with(const Call &call, Tally &tally, const Call &beside, Tally &its_tally,
                   const std::function<void()> &played);

    // The flight belongs to the queue; give it back with land().
    InFlightCall *start(const Call &call, Tally &tally);
    bool test(InFlightCall &flight);
    void wait(InFlightCall &flight);
    // Waits, and throws the flight's error, if it has one.  What goes wrong while calls are driven,
    // by whomever, is the error of all of them and of the communicator.
    void land(InFlightCall *flight);

    // The communicator has failed: when this returns nothing in flight moves any more.
    void abandon();

    // Forgets the plans of all calls that were made; false if one is still needed.
    bool forget();

    // Runs `body` while no call in flight moves.
    void while_still(const std::function<void()> &body);

private:
    class Driver; // the lock, asked for politely

    void run_thread();
    ProgressWakeup::Left left() const;
    bool drive();
    void fail_all();
    void drain();
    void end_all(const Error &error);
    void wait_locked(InFlightCall &flight);
    void land_locked(InFlightCall *flight);
    std::optional<Error> give_back(InFlightCall *flight);
    InFlightCall *launch(const Call &call, Tally &tally);

    Engine &engine_;
    transport::Segment &segment_;
    const int rank_;
    const Error exhausted_;
    bool plain_; // there is neither a thread nor a trace: all that a blocking call asks
    std::thread thread_;
    std::mutex mutex_;
    ProgressWakeup wakeup_;
    std::size_t in_flight_ = 0;          // started and not landed
    std::vector<InFlightCall *> active_; // oldest first
    std::vector<std::unique_ptr<InFlightCall>> pool_;
    std::vector<InFlightCall *> idle_;
};

} // namespace stretto::engine
