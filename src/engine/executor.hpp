// SPDX-License-Identifier: BSD-3-Clause
// An executor performs the copies and reductions of a call in place of the calling thread, and may
// complete them later (docs/architecture.md, "Steps that complete later").
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/memory_kind.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "engine/whole_call.hpp"
#include "reduce/kernels.hpp"
#include "transport/memory_user.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/shared_device.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::engine {

// The reduction of a call.
struct Kernel {
    bool reduces = false; // false: every pass of the call is a copy
    Dtype dtype = Dtype::i8;
    ReduceOp op = ReduceOp::sum;
    reduce::Rounding rounding = reduce::Rounding::once;
    reduce::Pass pass = nullptr; // the CPU's pass; null for user-defined operations
};

// An operand that an executor has begun to bring near, before its pass can run.
class Prefetch {
public:
    virtual ~Prefetch() = default; // when it ends, nothing reads the operand any more
    // Whether that is so already, so that it ends without a wait.
    virtual bool complete() = 0;
};

// One pass over memory.  The lists hold until issue() returns, the memory until the pass is
// complete.  Operands and results may be host memory (cells, and the engine's own scratch) or
// memory of the call's kind.
struct Work {
    std::span<void *const> outs;
    std::span<const void *const> ins; // in fold order; one: a copy
    std::size_t bytes = 0;            // of each of them
    const Kernel &kernel;
    // By operand; null: nothing was prefetched.  Empty: nothing of this pass was.
    std::span<std::unique_ptr<Prefetch>> prefetches = {};
    // Where the buffers are, or not at all: it is another rank's pass.
    bool only_there = false;
    // The executor may hold this pass back until start_issued(): passes that follow it in memory
    // may come.
    bool may_gather = false;
};

// The passes of a whole call (whole_call.hpp), one after another, where the buffers of all ranks
// are.  The lists hold until issue_all() returns.
struct PassList {
    struct Pass {
        std::span<void *const> outs;
        std::span<const void *const> ins; // one: a copy
        std::size_t bytes = 0;            // of each of them
    };
    std::span<const Pass> passes;
    std::span<const void *const> buffers; // an address in each buffer
    const Kernel &kernel;                 // of passes with several operands
    const reduce::ElementMap *then;       // of all results; null: nothing
};

// How long a thread that does nothing else sleeps between two looks at what a device does.
inline constexpr auto kDeviceNap = std::chrono::microseconds(10);
// A device of which no work ends for so long is stuck: no call waits for it any more.
inline constexpr std::uint64_t kStuckNs = 1'000'000'000;

// Wakes a rank from any thread, as long as its engine lives.
class Bell {
public:
    Bell(std::shared_ptr<transport::Segment> segment, int rank)
        : segment_(std::move(segment)), rank_(rank) {}
    void ring();
    void silence(); // when this returns, no thread rings any more

private:
    std::mutex mutex_;
    std::shared_ptr<transport::Segment> segment_; // null: silent
    const int rank_;
};

// The completion of one issued pass.
class Completion {
public:
    // Called once by the executor, from any thread.  After that it touches neither the memory of
    // the pass nor this object.
    void complete() noexcept { end(State::complete); }
    void fail(const Error &why) noexcept {
        why_ = why;
        end(State::failed);
    }

    bool pending() const { return state_.load(std::memory_order_acquire) == State::pending; }

    // Called by the engine.
    void rings(std::shared_ptr<Bell> bell) { bell_ = std::move(bell); }
    void arm() {
        why_.reset();
        state_.store(State::pending, std::memory_order_relaxed);
    }
    const std::optional<Error> &error() const { return why_; } // once pending() is false

private:
    enum class State : std::uint8_t { pending, complete, failed };
    void end(State state) noexcept {
        const std::shared_ptr<Bell> bell = bell_; // this may be gone once it is complete
        state_.store(state, std::memory_order_release);
        if (bell != nullptr)
            bell->ring();
    }

    std::atomic<State> state_{State::complete};
    std::optional<Error> why_;
    std::shared_ptr<Bell> bell_; // null: the executor is polled
};

// What the ranks of a host have listed of their device memory, for one rank of one communicator.
struct SharedLists {
    int rank;
    transport::SharedDevice &mine;
    std::vector<transport::SharedDevice *> others; // of processes that the driver sees
    std::atomic<std::uint64_t> &listings;
    // At so many listings the executor looked last, and could perhaps not open all.
    std::uint64_t looked = 0;
};

// Several threads may call all functions at once, for several ranks.  As a user of memory, an
// executor may register with its device what passes use again and again.
class Executor : public transport::MemoryUser {
public:
    static constexpr std::uint64_t kNoPolling = transport::kNoNap;

    // Whether it performs the passes of a call whose buffers are of this kind.
    virtual bool supports(MemoryKind memory, const Kernel &kernel) const = 0;
    // Begins to read an operand of a later pass.  It does not change before.  Null: the pass will
    // read it.  For a pass that waits for cells of other ranks, and whose own data are far away.
    virtual std::unique_ptr<Prefetch> prefetch(const void *from, std::size_t bytes) {
        (void)from;
        (void)bytes;
        return nullptr;
    }
    // Performs a pass at once, or takes it and ends the completion in bounded time, even if the
    // pass fails.  If this throws, it has not taken the pass, nor if it refuses one that it cannot
    // perform as Work::only_there says.
    enum class Issued { complete, pending, refused };
    virtual Issued issue(const Work &work, Completion &completion) = 0;
    // Begins the passes that the executor has held back (Work::may_gather); so do wait() and
    // poll().
    virtual void start_issued() noexcept {}
    // The longest sleep of a rank with issued passes between two polls, in nanoseconds.
    // kNoPolling: any length, since the executor's own threads end completions.
    virtual std::uint64_t longest_nap() const = 0;
    // Ends the completions of passes that are done, if no thread of the executor does so.
    virtual void poll() {}
    // Returns when the completion has ended.
    virtual void wait(const Completion &completion) = 0;
    // Whether it performs passes of this kernel over so many buffers where they are, on the device
    // of this one, and maps the results there (null: it need not).
    virtual bool performs_there(const void *memory, const Kernel &kernel,
                                const reduce::ElementMap *then, std::size_t buffers) noexcept {
        (void)memory, (void)kernel, (void)then, (void)buffers;
        return false;
    }
    // Takes all passes of a list, and ends the completion when the last one has ended; or refuses
    // them all, if it does not perform them where the buffers are.
    virtual Issued issue_all(const PassList &list, Completion &completion) {
        (void)list, (void)completion;
        return Issued::refused;
    }
    // Copies between memory of its kind and host memory, either way, before it returns.  Throws
    // Error.  For the work of the CPU before and after the steps of a call.
    virtual void copy(void *to, const void *from, std::size_t bytes) = 0;
    // Whether map() performs this where the buffer is; asked before the first step of a call.  If
    // not, the CPU does, in host memory.
    virtual bool maps(const void *memory, const reduce::ElementMap &map) noexcept {
        (void)memory, (void)map;
        return false;
    }
    // Maps elements in place before it returns.  Throws Error.
    virtual void map(void *memory, std::size_t count, const reduce::ElementMap &map) {
        (void)memory, (void)count, (void)map;
    }
    // Memory of its kind that other ranks of the host may read and write in place: lists the
    // allocation of a buffer and gives its place (transport::DevicePlace), or 0: they cannot.
    // `idle`: no call in flight has given a place, but in the slot `kept`.  Throws Error.
    virtual std::uint64_t share(SharedLists &lists, const void *memory, std::size_t bytes,
                                bool idle, std::optional<unsigned> kept) {
        (void)lists, (void)memory, (void)bytes, (void)idle, (void)kept;
        return 0;
    }
    // From now on until forget_lists(), open_shared() opens what these list.
    virtual void watch_lists(SharedLists &lists) { (void)lists; }
    virtual void forget_lists(SharedLists &lists) noexcept { (void)lists; }
    // Opens what is listed and not open, if the device's driver may be asked now, and publishes it
    // (SharedDevice::opened); also what find_piece() could not.  Else that is left to a later call.
    virtual void open_shared() {}
    // Where this process finds what another rank shares; null if it is not open.  Throws Error.
    virtual void *find_shared(const transport::SharedDevice &mine,
                              const transport::SharedDevice &its, transport::DevicePlace place) {
        (void)mine, (void)its, (void)place;
        return nullptr;
    }
    // Bytes of its kind that another process of the host may read where they are, once; nothing: it
    // cannot, or the device's driver is not to be asked now.  Throws Error.
    virtual std::optional<transport::DevicePiece> piece_of(const void *memory, std::size_t bytes) {
        (void)memory, (void)bytes;
        return std::nullopt;
    }
    // Where this process finds a piece of another one, to copy it to memory of its kind; null: it
    // does not.  Throws Error.
    virtual const void *find_piece(const transport::DevicePiece &piece, const void *to) {
        (void)piece, (void)to;
        return nullptr;
    }
    // Whether processes take turns on its devices, so that one of them launches passes for others.
    virtual bool takes_turns() const { return false; }
    // The error of a rank that could not open memory of another one.
    virtual Error refused(int error) { return {Status::internal, std::to_string(error)}; }
};

// The executor of a call, and the call's reduction.
struct Execution {
    Executor *executor = nullptr;
    Kernel kernel;
    MemoryKind memory = MemoryKind::host; // of the call's buffers on this rank
    // The same call as one process performs it; null: none can.
    std::unique_ptr<const WholeCall> whole = nullptr;
};

// Sets the executor of a kind of memory, for calls that are planned from now on; null: none.  It
// must outlive the communicators that use it.  Host memory needs no executor, but tests set one.
void set_executor(MemoryKind memory, Executor *executor);
Executor *executor_of(MemoryKind memory);

// The error of a call whose memory has no executor.
class Unserved : public Error {
public:
    using Error::Error;
};

} // namespace stretto::engine
