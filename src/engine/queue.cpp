// SPDX-License-Identifier: BSD-3-Clause
#include "engine/queue.hpp"

#include <algorithm>

#include "base/thread.hpp"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

namespace {
// For vectors of this size, waking the thread takes only a small part of the call's time: within a
// host, and between hosts.
constexpr std::size_t kUrgentBytes = std::size_t{1} << 19,
                      kUrgentRemoteBytes = std::size_t{1} << 16;
} // namespace

// Takes the lock from the progress thread, which may be asleep with it.
class Queue::Driver {
public:
    explicit Driver(Queue &queue) : queue_(queue) {
        queue_.wakeup_.come();
        transport::Doorbell(queue_.segment_, queue_.rank_).ring();
        lock_ = std::unique_lock(queue_.mutex_);
    }
    ~Driver() {
        const bool wake = queue_.wakeup_.leave(queue_.left());
        lock_.unlock();
        if (wake)
            queue_.wakeup_.wake();
    }
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;

private:
    Queue &queue_;
    std::unique_lock<std::mutex> lock_;
};

void Queue::leave() {
    if (!thread_.joinable())
        return;
    {
        const Driver driver(*this);
        drain();
        active_.clear();
        wakeup_.stop();
    }
    thread_.join();
}

void Queue::play_in_turn(const Call &call, Tally &tally) {
    if (!thread_.joinable()) {
        engine_.play_traced(call, tally);
        return;
    }
    const Driver driver(*this);
    if (active_.empty()) {
        engine_.traced() ? engine_.play_traced(call, tally) : engine_.play(call, tally);
        return;
    }
    InFlightCall *flight = launch(call, tally);
    wait_locked(*flight);
    finish_locked(flight);
}

void Queue::play_with(const Call &call, Tally &tally, const Call &beside, Tally &its_tally,
                      const std::function<void()> &played) {
    const Driver driver(*this);
    InFlightCall *const first = launch(call, tally), *second = nullptr;
    drive();
    try {
        second = launch(beside, its_tally);
    } catch (...) { // no memory, and the other ranks wait for this one
        fail_all();
    }
    wait_locked(*first);
    played();
    std::optional<Error> error = give_back(first);
    if (second != nullptr) {
        wait_locked(*second);
        const std::optional<Error> its_error = give_back(second);
        error = error ? error : its_error;
    }
    if (error)
        throw *error;
}

Queue::InFlightCall *Queue::launch(const Call &call, Tally &tally) {
    // Once the call is announced, nothing may fail for lack of memory, nor may its completion.
    if (idle_.empty()) {
        pool_.push_back(std::make_unique<InFlightCall>());
        idle_.reserve(pool_.size());
        idle_.push_back(pool_.back().get());
    }
    active_.reserve(pool_.size());
    InFlightCall *flight = idle_.back();
    flight->tally = &tally;
    flight->complete = false;
    flight->urgent = call.plan->vector_bytes >=
                     (segment_.remote_peers() != nullptr ? kUrgentRemoteBytes : kUrgentBytes);
    flight->error.reset();
    engine_.launch(flight->run, call, tally);
    idle_.pop_back();
    ++in_flight_;
    active_.push_back(flight);
    return flight;
}

Queue::InFlightCall *Queue::start(const Call &call, Tally &tally) {
    if (!thread_.joinable()) {
        thread_ = named_thread("stretto-nbc", [this] { run_thread(); });
        plain_ = false;
    }
    const Driver driver(*this);
    InFlightCall *flight = launch(call, tally);
    drive(); // work that needs no other rank is done at once, so that others can continue with it
    return flight;
}

bool Queue::test(InFlightCall &flight) {
    const Driver driver(*this);
    try {
        transport::make_progress(segment_);
    } catch (...) { // no memory for an incoming message
        fail_all();
    }
    if (!flight.complete && !drive())
        try {
            engine_.look_into(active_.front()->run);
        } catch (...) {
            fail_all();
        }
    return flight.complete;
}

void Queue::wait(InFlightCall &flight) {
    const Driver driver(*this);
    wait_locked(flight);
}

void Queue::finish(InFlightCall *flight) {
    const Driver driver(*this);
    wait_locked(*flight);
    finish_locked(flight);
}

void Queue::finish_locked(InFlightCall *flight) {
    if (const std::optional<Error> error = give_back(flight))
        throw *error;
}

std::optional<Error> Queue::give_back(InFlightCall *flight) {
    --in_flight_;
    idle_.push_back(flight);
    return flight->error;
}

bool Queue::forget() {
    const Driver driver(*this);
    if (in_flight_ != 0 || !engine_.forget())
        return false;
    for (const std::unique_ptr<InFlightCall> &flight : pool_)
        flight->run.plan = nullptr;
    return true;
}

void Queue::while_still(const std::function<void()> &body) {
    const Driver driver(*this);
    body();
}

void Queue::wait_locked(InFlightCall &flight) {
    while (!flight.complete) {
        try {
            if (!drive())
                engine_.wait(active_.front()->run, [this] { return drive(); }, true);
        } catch (...) {
            fail_all();
        }
    }
}

// Does the work that is possible now, oldest call first; true if there was any.  An exception
// becomes the error of the calls, which their owners get when they wait.
bool Queue::drive() {
    bool moved = false;
    for (std::size_t i = 0; i < active_.size();) {
        InFlightCall &flight = *active_[i];
        try {
            moved = engine_.attempt(flight.run) || moved;
        } catch (...) { // of a user-defined operation, or for lack of memory
            fail_all();
            return true;
        }
        if (!engine_.complete(flight.run)) {
            ++i;
            continue;
        }
        moved = true;
        flight.complete = true;
        active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
        try {
            engine_.end(flight.run, *flight.tally,
                        active_.empty() ? nullptr : &active_.front()->run);
        } catch (...) {
            flight.error = post_exception(segment_, rank_, exhausted_);
        }
    }
    if (moved)
        engine_.moved();
    return moved;
}

// Called in an exception handler: the communicator has failed, and so have all calls in flight.
void Queue::fail_all() {
    end_all(post_exception(segment_, rank_, exhausted_));
}

void Queue::abandon() {
    const Driver driver(*this);
    end_all(posted(segment_, exhausted_));
}

// No executor touches the memory of abandoned calls.
void Queue::drain() {
    for (InFlightCall *flight : active_)
        engine_.drain(flight->run);
}

void Queue::end_all(const Error &error) {
    drain();
    for (InFlightCall *flight : active_) {
        flight->error = error;
        flight->complete = true;
    }
    active_.clear();
}

ProgressWakeup::Left Queue::left() const {
    if (active_.empty())
        return ProgressWakeup::Left::nothing;
    const bool urgent = std::any_of(active_.begin(), active_.end(),
                                    [](const InFlightCall *each) { return each->urgent; });
    return urgent ? ProgressWakeup::Left::urgent : ProgressWakeup::Left::something;
}

void Queue::run_thread() {
    const auto give_way = [this] { return wakeup_.callers() || wakeup_.stopped(); };
    while (!wakeup_.stopped()) {
        wakeup_.wait();
        const std::lock_guard lock(mutex_);
        while (!active_.empty() && !give_way()) {
            try {
                engine_.wait(active_.front()->run, [&] { return give_way() || drive(); }, false);
            } catch (...) {
                fail_all();
            }
        }
        wakeup_.leave_behind(left());
    }
}

} // namespace stretto::engine
