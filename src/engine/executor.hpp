// SPDX-License-Identifier: BSD-3-Clause
// Who performs the copies and reductions of a call in place of the calling thread, and may complete
// them later (docs/architecture.md, "Steps that complete later").
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/memory_kind.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "reduce/kernels.hpp"
#include "transport/segment.hpp"

namespace stretto::engine {

// What the passes of a call with several operands do.
struct Kernel {
    bool reduces = false; // false: every pass of the call is a copy
    Dtype dtype = Dtype::i8;
    ReduceOp op = ReduceOp::sum;
    reduce::Rounding rounding = reduce::Rounding::once;
    reduce::Pass pass = nullptr; // the CPU's; null for user-defined operations
};

// One pass over memory.  The lists hold until issue() returns, the memory until the pass is
// complete.  Operands and results may be host memory (cells, and the engine's own scratch) or
// memory of the call's kind.
struct Work {
    std::span<void *const> outs;
    std::span<const void *const> ins; // in fold order; one: a copy
    std::size_t bytes = 0;            // of each of them
    const Kernel &kernel;
};

// Wakes a rank from any thread, as long as its engine lives.
class Bell {
public:
    Bell(std::shared_ptr<transport::Segment> segment, int rank)
        : segment_(std::move(segment)), rank_(rank) {}
    void ring();
    void silence(); // when this returns, nobody rings any more

private:
    std::mutex mutex_;
    std::shared_ptr<transport::Segment> segment_; // null: silent
    const int rank_;
};

// Of one pass that was issued.
class Completion {
public:
    // By the executor, once, from any thread.  From then on it touches neither the memory of the
    // pass nor this.
    void complete() noexcept { end(State::complete); }
    void fail(const Error &why) noexcept {
        why_ = why;
        end(State::failed);
    }

    bool pending() const { return state_.load(std::memory_order_acquire) == State::pending; }

    // By the engine.
    void rings(std::shared_ptr<Bell> bell) { bell_ = std::move(bell); }
    void arm() {
        why_.reset();
        state_.store(State::pending, std::memory_order_relaxed);
    }
    const std::optional<Error> &error() const { return why_; } // once it does not pend

private:
    enum class State : std::uint8_t { pending, complete, failed };
    void end(State state) noexcept {
        const std::shared_ptr<Bell> bell = bell_; // this may be gone as soon as it is complete
        state_.store(state, std::memory_order_release);
        if (bell != nullptr)
            bell->ring();
    }

    std::atomic<State> state_{State::complete};
    std::optional<Error> why_;
    std::shared_ptr<Bell> bell_; // null: the executor is polled
};

// All of it may be called by several threads at once, for several ranks.
class Executor {
public:
    static constexpr std::uint64_t kNoPolling = std::numeric_limits<std::uint64_t>::max();

    virtual ~Executor() = default;
    // Whether it performs the passes of a call whose buffers are of this kind.
    virtual bool supports(MemoryKind memory, const Kernel &kernel) const = 0;
    // Performs a pass at once, or takes it; then it ends the completion in bounded time, even if it
    // fails.  If this throws, it has taken nothing.
    enum class Issued { complete, pending };
    virtual Issued issue(const Work &work, Completion &completion) = 0;
    // How long a rank with issued passes may sleep between two polls, in nanoseconds.  kNoPolling:
    // for as long as it likes, since completions come from threads of the executor's own.
    virtual std::uint64_t longest_nap() const = 0;
    // Ends the completions of passes that are done, if that does not happen by itself.
    virtual void poll() {}
    // Returns when the completion does not pend any more.
    virtual void wait(const Completion &completion) = 0;
};

// Who performs the passes of a call, and what they do.
struct Execution {
    Executor *executor = nullptr;
    Kernel kernel;
};

// The executor of a kind of memory, for calls that are planned from now on; null: none.  It must
// outlive the communicators that use it.  Host memory needs none: tests give it one.
void set_executor(MemoryKind memory, Executor *executor);
Executor *executor_of(MemoryKind memory);

// No executor serves the memory of a call.
class Unserved : public Error {
public:
    using Error::Error;
};

} // namespace stretto::engine
