// SPDX-License-Identifier: BSD-3-Clause
// An executor that completes steps late, in any order, from a thread of its own: what a copy engine
// may do, in host memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "engine/executor.hpp"

namespace test {

class Deferred final : public stretto::engine::Executor {
public:
    using MemoryKind = stretto::MemoryKind;
    using Kernel = stretto::engine::Kernel;
    using Completion = stretto::engine::Completion;
    using Work = stretto::engine::Work;

    // How a rank learns that a step is complete.
    enum class Tells { signals, polled };

    explicit Deferred(Tells tells, std::uint64_t seed = 1) : tells_(tells), random_(seed) {
        thread_ = std::thread([this] { run(); });
    }
    // What is taken is completed first.
    ~Deferred() override {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    // Completes nothing until release(), and takes all.
    void hold() {
        const std::lock_guard lock(mutex_);
        held_ = true;
    }
    void release() {
        {
            const std::lock_guard lock(mutex_);
            held_ = false;
        }
        changed_.notify_all();
    }
    // All that it takes from now on fails, for this reason.
    void break_down(const stretto::Error &why) {
        const std::lock_guard lock(mutex_);
        why_ = why;
    }
    // Passes that were taken and are not complete.
    std::size_t taken() {
        const std::lock_guard lock(mutex_);
        return taken_.size();
    }
    // Passes that were taken, ever.
    std::size_t ever_taken() {
        const std::lock_guard lock(mutex_);
        return ever_taken_;
    }
    // Whether one of these reads or writes any of so many bytes.
    bool uses(const void *memory, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        return std::any_of(taken_.begin(), taken_.end(), [&](const Taken &taken) {
            const auto meets = [&](const void *place) {
                const auto *first = static_cast<const std::byte *>(place);
                const auto *ours = static_cast<const std::byte *>(memory);
                return first < ours + bytes && ours < first + taken.bytes;
            };
            return std::any_of(taken.ins.begin(), taken.ins.end(), meets) ||
                   std::any_of(taken.outs.begin(), taken.outs.end(), meets);
        });
    }

    bool supports(MemoryKind, const Kernel &) const override { return true; }

    Issued issue(const Work &work, Completion &completion) override {
        std::unique_lock lock(mutex_);
        Taken taken{{work.outs.begin(), work.outs.end()},
                    {work.ins.begin(), work.ins.end()},
                    work.bytes,
                    work.kernel,
                    &completion};
        // Some are fast.
        if (!held_ && !why_ && random_() % 8 == 0) {
            lock.unlock();
            perform(taken);
            return Issued::complete;
        }
        taken_.push_back(std::move(taken));
        ++ever_taken_;
        lock.unlock();
        changed_.notify_all();
        return Issued::pending;
    }

    std::uint64_t longest_nap() const override {
        return tells_ == Tells::signals ? kNoPolling : 50'000;
    }

    void poll() override {
        std::vector<Taken> ended;
        {
            const std::lock_guard lock(mutex_);
            std::swap(ended, ended_);
        }
        for (const Taken &each : ended)
            end(each);
    }

    void copy(void *to, const void *from, std::size_t bytes) override {
        std::memcpy(to, from, bytes);
    }

    void wait(const Completion &completion) override {
        while (completion.pending()) {
            poll();
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

private:
    struct Taken {
        std::vector<void *> outs;
        std::vector<const void *> ins;
        std::size_t bytes;
        Kernel kernel;
        Completion *completion;
        std::optional<stretto::Error> why = {}; // it fails
    };

    static void perform(Taken &taken) {
        const auto outs = static_cast<int>(taken.outs.size());
        const auto ins = static_cast<int>(taken.ins.size());
        if (ins == 1)
            stretto::reduce::copy_pass()(taken.outs.data(), outs, taken.ins.data(), 1, taken.bytes,
                                         0);
        else
            taken.kernel.pass(taken.outs.data(), outs, taken.ins.data(), ins,
                              taken.bytes / size_of(taken.kernel.dtype), 0);
    }

    static void end(const Taken &taken) {
        if (taken.why)
            taken.completion->fail(*taken.why);
        else
            taken.completion->complete();
    }

    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopped_ || (!held_ && !taken_.empty()); });
            if (taken_.empty())
                return;
            // Others come meanwhile, and may be done before.
            const auto pause = std::chrono::microseconds(random_() % 4 == 0 ? random_() % 50 : 0);
            lock.unlock();
            std::this_thread::sleep_for(pause);
            lock.lock();
            if (held_ && !stopped_)
                continue;
            const auto number = static_cast<std::ptrdiff_t>(random_() % taken_.size());
            Taken now = taken_[static_cast<std::size_t>(number)]; // a copy: uses() still sees it
            now.why = why_;
            const Completion *const which = now.completion;
            lock.unlock();
            if (!now.why)
                perform(now);
            lock.lock();
            taken_.erase(std::find_if(taken_.begin(), taken_.end(),
                                      [&](const Taken &each) { return each.completion == which; }));
            if (tells_ == Tells::polled) {
                ended_.push_back(std::move(now));
                continue;
            }
            lock.unlock();
            end(now);
            lock.lock();
        }
    }

    const Tells tells_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::minstd_rand random_;
    std::vector<Taken> taken_, ended_;
    std::size_t ever_taken_ = 0;
    std::optional<stretto::Error> why_;
    bool held_ = false, stopped_ = false;
    std::thread thread_;
};

// An executor of memory of a kind, for as long as this lives.
class Registered {
public:
    Registered(stretto::MemoryKind memory, stretto::engine::Executor &executor) : memory_(memory) {
        stretto::engine::set_executor(memory, &executor);
    }
    ~Registered() { stretto::engine::set_executor(memory_, nullptr); }
    Registered(const Registered &) = delete;
    Registered &operator=(const Registered &) = delete;

private:
    const stretto::MemoryKind memory_;
};

} // namespace test
