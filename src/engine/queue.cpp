// SPDX-License-Identifier: BSD-3-Clause
#include "engine/queue.hpp"

#include <algorithm>
#include <utility>

#include "base/thread.hpp"
#include "engine/waiting.hpp"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

namespace {
// For vectors of this size, waking the thread takes only a small part of the call's time: within a
// host, and between hosts.
constexpr std::size_t kUrgentBytes = std::size_t{1} << 19,
                      kUrgentRemoteBytes = std::size_t{1} << 16;
} // namespace

// A caller in the queue.  It takes the lock, from the progress thread or from a caller that plays
// directly; either may be asleep with it.
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

    // Waits for the end of a call.
    void wait(InFlightCall &flight);

private:
    void sleep(Waiting &waiting, std::size_t vector_bytes);

    Queue &queue_;
    std::unique_lock<std::mutex> lock_;
};

class Queue::Waiting final : public Engine::Waiting {
public:
    Waiting(Queue &queue, InFlightCall &flight)
        : Engine::Waiting(queue.engine_, true), queue_(queue), flight_(flight) {}

    bool attempt() override {
        const Notices::Delivery after(queue_.notices_);
        const std::lock_guard lock(queue_.mutex_);
        return flight_.complete || Engine::Waiting::attempt() || flight_.complete;
    }
    void diagnose(std::uint64_t waited_ns) override {
        const std::lock_guard lock(queue_.mutex_);
        Engine::Waiting::diagnose(waited_ns);
    }
    std::uint64_t longest_nap() const override {
        const std::lock_guard lock(queue_.mutex_);
        return Engine::Waiting::longest_nap();
    }

protected:
    bool step() override { return queue_.drive(); }
    Run *oldest() override {
        return queue_.active_.empty() ? nullptr : queue_.active_.front()->run;
    }

private:
    Queue &queue_;
    InFlightCall &flight_;
};

void Queue::Driver::wait(InFlightCall &flight) {
    while (!flight.complete) {
        try {
            if (queue_.drive())
                continue;
            Waiting waiting(queue_, flight);
            const std::size_t bytes = queue_.active_.front()->run->plan->vector_bytes;
            sleep(waiting, bytes);
            waiting.end();
        } catch (...) {
            queue_.fail_all();
        }
    }
}

void Queue::Driver::sleep(Waiting &waiting, std::size_t vector_bytes) {
    lock_.unlock();
    try {
        queue_.engine_.wait(waiting, vector_bytes);
    } catch (...) {
        lock_.lock();
        if (queue_.active_.empty())
            throw;
        queue_.engine_.rethrow(*queue_.active_.front()->run);
    }
    lock_.lock();
}

Queue::Queue(Engine &engine, transport::Segment &segment, int rank, Notices &notices)
    : engine_(engine), direct_(!engine.traced()),
      give_up_([this] { return order_.wanted() || wakeup_.crowded() || notices_.any(); }),
      order_(segment, rank), segment_(segment), rank_(rank), notices_(notices),
      exhausted_(no_memory(segment.names().of(rank))) {
    active_.reserve(1);
}

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

// `begun`: the run of a call that was begun directly; null: it has not begun.
void Queue::play_on(const Call &call, Tally &tally, CallOrder::Hold &order, Run *begun) {
    Driver driver(*this);
    InFlightCall *flight = nullptr;
    if (begun == nullptr && (!active_.empty() || played_in_use_)) {
        flight = launch(call, tally);
    } else {
        if (begun == nullptr)
            begun = engine_.traced() ? engine_.play_traced(call, tally, give_up_)
                                     : engine_.play(call, tally, give_up_);
        if (begun == nullptr)
            return;
        played_in_use_ = true;
        flight = &played_;
        add(*flight, *begun, call, tally);
    }
    direct_.store(false, std::memory_order_relaxed);
    order.give();
    driver.wait(*flight);
    if (const std::optional<Error> error = give_back(flight))
        throw *error;
}

void Queue::play_with(const Call &call, Tally &tally, const Call &beside, Tally &its_tally,
                      const std::function<void()> &played, CallOrder::Hold &order) {
    Driver driver(*this);
    direct_.store(false, std::memory_order_relaxed);
    InFlightCall *const first = launch(call, tally), *second = nullptr;
    drive();
    try {
        second = launch(beside, its_tally);
    } catch (...) { // no memory, and the other ranks wait for this one
        fail_all();
    }
    order.give();
    driver.wait(*first);
    played();
    std::optional<Error> error = give_back(first);
    if (second != nullptr) {
        driver.wait(*second);
        const std::optional<Error> its_error = give_back(second);
        error = error ? error : its_error;
    }
    if (error)
        throw *error;
}

void Queue::add(InFlightCall &flight, Run &run, const Call &call, Tally &tally) {
    flight.run = &run;
    flight.tally = &tally;
    flight.complete = false;
    flight.urgent = call.plan->vector_bytes >=
                    (segment_.remote_peers() != nullptr ? kUrgentRemoteBytes : kUrgentBytes);
    flight.error.reset();
    flight.notice = nullptr;
    ++in_flight_;
    active_.push_back(&flight);
}

Queue::InFlightCall *Queue::launch(const Call &call, Tally &tally, std::shared_ptr<Gate> gate) {
    // Once the call is announced, nothing may fail for lack of memory, nor may its completion.
    if (idle_.empty()) {
        pool_.push_back(std::make_unique<InFlightCall>());
        idle_.reserve(pool_.size());
        idle_.push_back(pool_.back().get());
    }
    active_.reserve(pool_.size() + 1);
    InFlightCall *flight = idle_.back();
    engine_.launch(flight->own, call, tally, gate.get());
    idle_.pop_back();
    add(*flight, flight->own, call, tally);
    flight->urgent =
        flight->urgent || gate != nullptr; // its caller does not wait for it, as a rule
    flight->gate = std::move(gate);
    return flight;
}

Queue::InFlightCall *Queue::start(const Call &call, Tally &tally, std::shared_ptr<Gate> gate) {
    const Driver driver(*this);
    direct_.store(false, std::memory_order_relaxed);
    if (!thread_.joinable())
        thread_ = named_thread("stretto-nbc", [this] { run_thread(); });
    InFlightCall *flight = launch(call, tally, std::move(gate));
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
            engine_.look_into(*active_.front()->run);
        } catch (...) {
            fail_all();
        }
    return flight.complete;
}

void Queue::wait(InFlightCall &flight) {
    Driver driver(*this);
    driver.wait(flight);
}

void Queue::wait_for_all() {
    Driver driver(*this);
    while (!active_.empty())
        driver.wait(*active_.front());
}

void Queue::finish(InFlightCall *flight) {
    Driver driver(*this);
    driver.wait(*flight);
    if (const std::optional<Error> error = give_back(flight))
        throw *error;
}

// The last in-flight call leaves the engine to threads that hold the call order, if there is no
// progress thread.
std::optional<Error> Queue::give_back(InFlightCall *flight) {
    if (flight == &played_)
        played_in_use_ = false;
    else
        idle_.push_back(flight);
    std::optional<Error> error = std::move(flight->error);
    if (--in_flight_ == 0 && !thread_.joinable() && !engine_.traced())
        direct_.store(true, std::memory_order_release);
    return error;
}

bool Queue::forget() {
    const Driver driver(*this);
    if (in_flight_ != 0 || !engine_.forget())
        return false;
    for (const std::unique_ptr<InFlightCall> &flight : pool_)
        flight->own.plan = nullptr;
    return true;
}

void Queue::while_still(const std::function<void()> &body) {
    const Driver driver(*this);
    body();
}

void Queue::notify(InFlightCall &flight, Notice *notice) {
    const Driver driver(*this);
    flight.notice = notice;
    flight.urgent = true;
    if (flight.complete)
        ended(flight);
}

void Queue::ended(InFlightCall &flight) {
    if (flight.gate != nullptr)
        std::exchange(flight.gate, nullptr)->ended();
    if (flight.notice != nullptr)
        notices_.part_ended(std::exchange(flight.notice, nullptr), flight.error);
    wake_others();
}

// Another caller may sleep until its call ends.
void Queue::wake_others() {
    if (wakeup_.crowded())
        transport::Doorbell(segment_, rank_).ring();
}

// What comes after a call in the order of its gate.
void Queue::require_wait(const InFlightCall &flight) {
    if (flight.gate != nullptr) [[unlikely]]
        flight.gate->require_wait();
}

// Does the work that is possible now, oldest call first; true if there was any.  An exception
// becomes the error of the calls, which their owners get when they wait.
bool Queue::drive() {
    bool moved = false;
    for (std::size_t i = 0; i < active_.size();) {
        InFlightCall &flight = *active_[i];
        try {
            require_wait(flight); // else its memory may be freed already
            moved = engine_.attempt(*flight.run) || moved;
            require_wait(flight);
        } catch (...) { // of a user-defined operation, or for lack of memory
            fail_all();
            return true;
        }
        if (flight.run->gate != nullptr || !engine_.complete(*flight.run)) {
            ++i;
            continue;
        }
        moved = true;
        flight.complete = true;
        active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
        try {
            engine_.end(*flight.run, *flight.tally,
                        active_.empty() ? nullptr : active_.front()->run);
            require_wait(flight); // its last copies may have been kept from the device
        } catch (...) {
            flight.error = post_exception(segment_, rank_, exhausted_);
        }
        ended(flight);
    }
    if (moved)
        engine_.moved();
    return moved;
}

void Queue::abandon() {
    const Driver driver(*this);
    end_all(posted(segment_, exhausted_));
}

ProgressWakeup::Left Queue::left() const {
    if (active_.empty())
        return ProgressWakeup::Left::nothing;
    const bool urgent = engine_.launching() != 0 ||
                        std::any_of(active_.begin(), active_.end(),
                                    [](const InFlightCall *each) { return each->urgent; });
    return urgent ? ProgressWakeup::Left::urgent : ProgressWakeup::Left::something;
}

void Queue::run_thread() {
    const auto give_way = [this] { return wakeup_.callers() || wakeup_.stopped(); };
    while (!wakeup_.stopped()) {
        wakeup_.wait();
        std::unique_lock lock(mutex_);
        while (!active_.empty() && !give_way()) {
            try {
                engine_.wait(*active_.front()->run, [&] { return give_way() || drive(); }, false);
            } catch (...) {
                fail_all();
            }
            if (notices_.any()) {
                lock.unlock();
                notices_.deliver();
                lock.lock();
            }
        }
        wakeup_.leave_behind(left());
    }
}

} // namespace stretto::engine
