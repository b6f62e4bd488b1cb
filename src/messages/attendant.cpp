// SPDX-License-Identifier: BSD-3-Clause
#include "messages/attendant.hpp"

#include <chrono>

#include "base/thread.hpp"
#include "messages/messenger.hpp"
#include "transport/ladder.hpp"

namespace stretto::messages {

// Waits for anything that can be done, or for a reason to stop.
class Attendant::Driving final : public transport::Awaited {
public:
    explicit Driving(Attendant &attendant) : attendant_(attendant) {}
    bool attempt() override {
        const std::lock_guard lock(attendant_.messenger_.mutex_);
        return !attendant_.wanted() || attendant_.messenger_.advance();
    }
    // Whoever waits for a transfer asks why it takes so long.
    void diagnose(std::uint64_t) override {}

private:
    Attendant &attendant_;
};

Attendant::~Attendant() {
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(messenger_.mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    transport::Doorbell(*messenger_.segment_, messenger_.rank_).ring();
    thread_.join();
}

void Attendant::one_more() {
    ++in_flight_;
    if (!thread_.joinable())
        thread_ = named_thread("stretto-mail", [this] { run(); });
    else if (parked_ && wanted())
        changed_.notify_one();
}

void Attendant::one_less() {
    --in_flight_;
}

void Attendant::leaves() {
    --callers_;
    if (parked_ && wanted())
        changed_.notify_one();
}

void Attendant::run() {
    constexpr std::chrono::milliseconds kLeave{1};
    std::unique_lock lock(messenger_.mutex_);
    while (!stop_) {
        parked_ = true;
        changed_.wait(lock, [this] { return stop_ || wanted(); });
        parked_ = false;
        const std::uint64_t visits = visits_;
        changed_.wait_for(lock, kLeave, [this] { return stop_; });
        if (visits != visits_ || !wanted())
            continue;
        lock.unlock();
        try {
            Driving driving(*this);
            transport::wait(*messenger_.segment_, messenger_.rank_, driving, transport::kHelper);
            lock.lock();
        } catch (...) {
            const Error error = engine::post_exception(*messenger_.segment_, messenger_.rank_,
                                                       messenger_.exhausted_);
            lock.lock();
            messenger_.abandon_all(error);
        }
    }
}

} // namespace stretto::messages
