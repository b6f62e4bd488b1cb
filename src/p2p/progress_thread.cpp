// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/progress_thread.hpp"

#include <chrono>

#include "base/thread.hpp"
#include "p2p/messenger.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::p2p {

// Moves messages, and sleeps while none can move, until a caller comes or the thread must end.
class ProgressThread::Driving final : public transport::Waitable {
public:
    explicit Driving(ProgressThread &thread) : progress_thread_(thread) {}
    bool attempt() override {
        progress_thread_.messenger_.poll_executors();
        const std::lock_guard lock(progress_thread_.messenger_.mutex_);
        return !progress_thread_.wanted() || progress_thread_.messenger_.advance();
    }
    std::uint64_t longest_nap() const override { return progress_thread_.messenger_.longest_nap(); }
    // Only a caller that waits for a transfer diagnoses a long wait; but no caller need wait for
    // those in an order.
    void diagnose(std::uint64_t) override { progress_thread_.messenger_.diagnose_orders(); }

private:
    ProgressThread &progress_thread_;
};

ProgressThread::~ProgressThread() {
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

void ProgressThread::add_transfer() {
    ++in_flight_;
    if (!thread_.joinable())
        thread_ = named_thread("stretto-p2p", [this] { run(); });
    else if (parked_ && wanted())
        changed_.notify_one();
}

void ProgressThread::add_urgent() {
    ++urgent_;
    changed_.notify_one();
}

void ProgressThread::remove_transfer() {
    --in_flight_;
}

void ProgressThread::leave() {
    --callers_;
    if (parked_ && wanted())
        changed_.notify_one();
}

void ProgressThread::run() {
    constexpr std::chrono::milliseconds kLeaveMs{1};
    std::unique_lock lock(messenger_.mutex_);
    while (!stop_) {
        parked_ = true;
        changed_.wait(lock, [this] { return stop_ || wanted(); });
        parked_ = false;
        const std::uint64_t visits = visits_;
        changed_.wait_for(lock, kLeaveMs, [this] { return stop_ || urgent_ != 0; });
        if (!wanted() || (visits != visits_ && urgent_ == 0))
            continue;
        lock.unlock();
        try {
            Driving driving(*this);
            transport::wait(*messenger_.segment_, messenger_.rank_, driving, transport::kHelper);
            messenger_.diagnose_orders();
        } catch (...) {
            const Error error = engine::post_exception(*messenger_.segment_, messenger_.rank_,
                                                       messenger_.exhausted_);
            const std::lock_guard again(messenger_.mutex_);
            messenger_.abandon_all(error);
        }
        messenger_.notices_.deliver();
        lock.lock();
    }
}

} // namespace stretto::p2p
