// SPDX-License-Identifier: BSD-3-Clause
#include "base/background.hpp"

#include <system_error>
#include <utility>

#include "base/thread.hpp"

namespace stretto {

void BackgroundExecutor::perform(const std::function<void()> &job) {
    const std::lock_guard lock(performing_);
    try {
        job();
    } catch (...) { // no memory: it is not done
    }
}

void BackgroundExecutor::submit(std::function<void()> job) {
    if (!hand_over(job))
        perform(job);
}

// False: there is no thread.
bool BackgroundExecutor::hand_over(std::function<void()> &job) {
    const std::lock_guard lock(mutex_);
    if (stop_)
        return false;
    if (!thread_.joinable()) {
        try {
            thread_ = named_thread(thread_name_, [this] { run(); });
        } catch (const std::system_error &) { // the limit of processes; the next job tries again
            return false;
        }
    }
    jobs_.push_back(std::move(job));
    changed_.notify_one();
    return true;
}

void BackgroundExecutor::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable())
        thread_.join();
}

void BackgroundExecutor::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
        if (jobs_.empty())
            return;
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        perform(job);
        lock.lock();
    }
}

} // namespace stretto
