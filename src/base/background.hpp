// SPDX-License-Identifier: BSD-3-Clause
// A thread that does jobs one after another, in the order in which they are submitted.
//
// For work that may take long and that no rank waits for at once: a thread that must answer
// others in time hands it over.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace stretto {

class BackgroundExecutor {
public:
    // The thread has this name, and exists from the first job on.
    explicit BackgroundExecutor(const char *thread_name) : thread_name_(thread_name) {}
    ~BackgroundExecutor() { stop(); }
    BackgroundExecutor(const BackgroundExecutor &) = delete;
    BackgroundExecutor &operator=(const BackgroundExecutor &) = delete;

    // Any thread.  What a job throws is dropped: the job says itself what follows from that.  If
    // there is no thread, because it cannot be started or stop() was called, the caller does the
    // job before this returns.  Two jobs never run at the same time.
    void submit(std::function<void()> job);
    // Returns when all jobs so far are done.
    void stop();

private:
    void run();
    void perform(const std::function<void()> &job);
    bool hand_over(std::function<void()> &job);

    const char *const thread_name_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool stop_ = false;
    std::thread thread_;
    std::recursive_mutex performing_; // a job may submit another one
};

} // namespace stretto
