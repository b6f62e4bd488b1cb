// SPDX-License-Identifier: BSD-3-Clause
// The engine: plays one rank's part of plans over the shared segment.
//
// Steps run in the order of the plan; while one waits for another rank, later steps whose own
// predecessors are complete run before it, so that a late rank holds up only what needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "engine/issued.hpp"
#include "engine/pass_delegation.hpp"
#include "engine/plan.hpp"
#include "engine/run.hpp"
#include "engine/stall.hpp"
#include "engine/store_choice.hpp"
#include "engine/stream.hpp"
#include "reduce/kernels.hpp"
#include "reduce/strings.hpp"
#include "trace/recorder.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/in_place.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/shm/segment.hpp"
#include "transport/wait/doorbell.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::engine {

struct EngineOptions {
    std::uint64_t spin_ns = 0;           // before yielding
    std::uint64_t timeout_ns = 0;        // 0: wait for ever
    std::string who;                     // the name of this rank in errors: "rank 3 on node7"
    trace::Recorder *recorder = nullptr; // of the trace; null: no trace
    bool attaches_to_reduce = false;     // cross-memory attach also in calls that reduce (XPMEM
                                         // always)
    bool shares_devices = true;          // zero copy in memory of a device
    Launches launches = Launches::one_process;
    bool one_pass = true; // of one process, for the buffers of all ranks, if launches allow it
};

// Other work that a rank does while it waits in a call.
class Companion {
public:
    virtual ~Companion() = default;
    // True if there was work.  May be called whenever its owner waits, by any of its threads.
    virtual bool progress() = 0;
    // The longest sleep in nanoseconds between two such calls, if no doorbell rings for the work.
    virtual std::uint64_t longest_nap() const { return transport::kNoNap; }
};

class Engine {
public:
    // `describe` turns the description of a call into words, for errors.
    using Describe = std::function<std::string(const CallDescriptor &)>;

    Engine(std::shared_ptr<transport::Segment> segment, int rank, const transport::Heap &heap,
           EngineOptions options, Describe describe, Companion *companion = nullptr);
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    // Plays a call to its end.  Throws Error if it, or the communicator, has failed.
    void play(const Call &call, Tally &tally) {
        (void)play(call, tally, [] { return false; });
    }
    // The same, and returns null.  If the call has to wait and `give_up` becomes true, returns its
    // run, to be played on in parts, as below; `call` must live until its end.
    Run *play(const Call &call, Tally &tally, const std::function<bool()> &give_up);
    // The same with a trace, so that calls without one make no checks.
    Run *play_traced(const Call &call, Tally &tally, const std::function<bool()> &give_up);
    bool traced() const { return recorder_ != nullptr; }

    // The same in parts, for calls that outlive their caller.  launch() gives the call its place in
    // the order of all calls.  attempt() does the work that is possible now; true if there was any.
    // `gate`: null if the call begins at once.
    void launch(Run &run, const Call &call, const Tally &tally, Gate *gate = nullptr);
    bool attempt(Run &run);
    // Abandons a run: when this returns, no executor touches the memory of its call.
    void drain(Run &run);
    // The same without a wait: true if no executor touches it.
    bool drained(Run &run);
    // Whether no device that another rank uses touches the memory of this rank, after a failure.
    bool left_alone() const;
    // Returns when that is so; if some rank's device is stuck, after a while.
    void await_peers() const;
    // Steps that executors have taken and not completed, of all calls, and passes of other ranks.
    std::size_t issued() const { return issued_ + launching(); }
    // Passes that this rank launches for others now.
    std::size_t launching() const { return delegation_ == nullptr ? 0 : delegation_->launching(); }
    static bool complete(const Run &run) {
        return run.next == run.plan->steps.size() && run.cells_in_use == 0 && run.tiles_left == 0 &&
               !run.undecided();
    }
    // `oldest`: the oldest call in flight; null if there is none.
    void end(Run &run, Tally &tally, const Run *oldest = nullptr);

    // Waits until `attempt` does some work, and looks for failures.  `run` is the oldest call that
    // waits.  A helper thread gives up the core sooner than the caller.
    void wait(Run &run, const std::function<bool()> &attempt, bool caller);
    class Waiting; // waiting.hpp
    // The same for several threads of a rank that wait at the same time.
    void wait(Waiting &waiting, std::size_t vector_bytes);
    // Called where an exception of a wait is handled: rethrows it, with `run` in words.
    [[noreturn]] void rethrow(const Run &run) const;

    // For a caller that tests calls instead of waiting: whether anything has moved since the last
    // test.  `run` is the oldest call; if nothing moves for long, it is investigated as in a wait.
    void look_into(Run &run);
    void moved() {
        if (still_.since != 0) [[unlikely]]
            end_stillness();
    }

    // Fails the communicator if a rank's call `sequence` differs from this rank's.
    void judge(std::uint64_t sequence);
    // From now on waits end at a point in time (of now_ns(); UINT64_MAX: never) instead of after
    // the options' timeout, with an error that ends with `why`.
    void end_waits_at(std::uint64_t deadline, std::string why);
    void end_waits_as_ever() { deadline_.reset(); }
    // Calls begun.
    std::uint64_t calls() const { return sequence_; }
    // Errors and traces number calls from the next one on, which is 0; so on all ranks.
    void number_from_here() { segment_->number_from(sequence_); }
    // The number of complete calls, counted without a gap.  Once the communicator has failed, calls
    // that were just ending are not counted, as other ranks may not have their results.
    std::uint64_t completed() const { return completed_; }

    // Releases the plans of all earlier calls; false if other ranks still need one.
    bool forget();

    // The callback for waits in which a rank does not come.
    StallWatch &stall_watch() { return stall_watch_; }
    const transport::Segment &segment() const { return *segment_; }
    void show_memory(Executor &executor); // that calls use; rings are open

private:
    void begin(Run &run, const Call &call, const Tally &tally);
    void take_memory(Run &run);
    bool opened(Run &run);
    void forget_gate(Run &run);
    void prepare(Run &run);
    void finish(Run &run);
    void copy_bytes(const Run &run, void *to, const void *from, std::size_t bytes);
    static void begin_tiles(Run &run);
    static void follow(Run &run);
    static bool next_tile(Run &run);
    void announce(const Run &run);
    void pass_by(const Plan &plan);
    void let_them_write(const Plan &plan);
    // How the steps of a call are performed; the code that plays them is compiled for each way.
    enum class Mode { here, traced, executor };
    template<Mode mode>
    Run *play_as(const Call &call, Tally &tally, const std::function<bool()> &give_up);
    Run *play_elsewhere(const Call &call, Tally &tally, const std::function<bool()> &give_up);
    Run *keep_own();
    template<Mode mode>
    bool proceed(Run &run, std::uint32_t end);
    template<Mode mode>
    bool advance(Run &run);
    template<Mode mode>
    bool advance_tile(Run &run);
    template<Mode mode>
    bool attempt_as(Run &run);
    template<Mode mode>
    bool look_ahead(Run &run);
    template<Mode mode>
    bool look_ahead(Run &tile, std::uint32_t first, Run &run);
    template<Mode mode>
    bool spin(Run &run);
    template<Mode mode>
    bool perform(Run &run, const Step &step);
    template<Mode mode>
    void note_wait(const Run &run);
    bool ready(Run &run, const Step &step);
    void publish(Run &run, const Step &step, transport::Cell &own, std::uint64_t position,
                 transport::Location where);
    template<Mode mode>
    bool execute(Run &run, const Step &step);
    void close(Run &run, Tally &tally, const Run *oldest);
    void report_taken(transport::RemotePeers &remote_peers, const Plan &plan, const Run *oldest);
    void reduce_by_user(const Run &run, void **outs, int count, const void **ins, int operands,
                        std::size_t bytes);
    void report(const Run &run);

    // executing.cpp
    void expect_executor(Run &run);
    bool issue(Run &run, const Step &step, int outs, transport::Location where);
    bool issue_pass(Run &run, const Step &step, int outs, transport::Location where);
    void reduce_by_user_elsewhere(Run &run, const Step &step, int outs,
                                  std::vector<std::byte> &memory);
    void prefetch(Run &run, std::uint32_t index);
    void collect(Run &run);
    void add_issued(Run &run, const IssuedSteps::Slot &slot);
    void forget_issued(Run &run, std::uint32_t step);
    void count_issued(const Executor &executor);
    void count_ended();

    // delegated_passes.cpp
    bool delegate_pass(Run &run, const Step &step, IssuedSteps::Slot &slot,
                       transport::Location where);
    bool look_at_delegated(Run &run, IssuedSteps::Slot &slot);
    int delegate_of(const Run &run, std::uint32_t step) const;
    void settle_delegated() {
        if (delegation_ != nullptr)
            delegation_->settle();
    }

    // tracing.cpp
    void execute_traced(Run &run, const Step &step);
    void trace_begin(const Run &run);
    void trace_step(const Run &run, const Step &step, std::uint64_t begin);
    void trace_one_pass(const Run &run);
    void trace_wait(const Run &run);

    // zero_copy_buffers.cpp
    bool storable(Run &run, const Step &step);
    bool read_in_place(const Run &run, const Step &step) {
        return step.zero_copy_read != ZeroCopy::never &&
               (run.call->input_heap != 0 || (run.attached && attached(run, step))) &&
               (step.zero_copy_read == ZeroCopy::always || !run.call->in_place);
    }
    void publish_in_place(Run &run, const Step &step);
    bool sends_in_place(const Call &call) const;
    bool send_in_place(Run &run, const Step &step);
    transport::Location place_of(const Run &run, const Step &step) const;
    // The operand of a step that publishes it as it is.
    static const std::byte *contribution_of(const Run &run, const Step &step) {
        const StepOperand &operand = run.plan->operands[step.first_operand];
        return reinterpret_cast<const std::byte *>(run.base[static_cast<int>(operand.space)] +
                                                   operand.offset);
    }
    int collect_outputs(const Run &run, const Step &step, void **outs);
    bool released(const Run &run, const Step &step) const;

    // device_sharing.cpp
    bool reaches_device(int reader, int owner) const;
    SharedLists &shared_lists(Executor &executor);
    void forget_lists() noexcept;
    void share_buffers(Run &run, const Call &call, std::uint64_t sequence);
    void share_memory(Run &run);
    void share_before_waiting(Run &run, Executor *executor);
    std::optional<transport::SharedBuffers::Places> shared_buffers(const Run &run, int rank) const;
    void open_buffers(const Run &run);
    std::uint64_t shared_output(const Run &run, int rank, const Step &step);
    bool read_on_device(const Run &run, const Step &step);
    void *on_device(const Run &run, int rank, std::uint64_t place);
    void take_from_device(const Run &run, int rank, std::uint64_t place, void *into,
                          std::size_t bytes);

    // one_pass.cpp
    bool may_be_one_pass(const Call &call) const {
        return call.one_pass && options_.one_pass && options_.launches != Launches::own;
    }
    void ask_for_one_pass(Run &run);
    bool decided(Run &run);
    bool decided_as_leader(Run &run);
    bool has_entered(int rank, std::uint64_t sequence) const;
    int awaited_before_steps(const Run &run) const;
    std::optional<bool> all_ask(const Run &run) const;
    bool find_all(Run &run);
    bool find_buffers(Run &run);
    bool begin_one_pass(Run &run);
    void end_one_pass(Run &run);
    void go_by_steps(Run &run);
    void hear(Run &run, OnePass what);
    void drop_one_pass(Run &run);
    bool one_pass_dropped(Run &run);
    // attaching.cpp
    bool attaches(const Call &call);
    bool maps();
    // Whether the readers of a step read in this rank's own memory.
    bool attached(const Run &run, const Step &step);
    std::optional<transport::Location> elsewhere(const Run &run, const StepOperand &operand) const;
    const void *attach(const Run &run, const StepOperand &operand, std::uint64_t address,
                       std::size_t bytes);
    [[noreturn]] void fail_reading(const Run &run, int rank, const Error &error);
    [[noreturn]] void fail_gone(const Run &run, int rank);
    void take(const Run &run, const StepOperand &operand, transport::Location where, void *into,
              std::size_t bytes);
    template<class Value>
    void make_room(const Run &run, std::vector<Value> &list, std::size_t size);
    void take_all(Run &run, const Step &step, std::vector<std::byte> &memory);
    void work_attached(Run &run, const Step &step, int outs, std::uint32_t streaming);
    void work_mapped(Run &run, const Step &step, int outs, std::uint32_t streaming);

    // The progress of a rank that reaches this tile, and this rank's steps before it.
    static std::uint64_t before_tile(const Run &run) {
        return progress_of(run.sequence, run.origin);
    }
    static std::uint32_t steps_before(const Run &run) {
        return run.tile * static_cast<std::uint32_t>(run.call->plan->steps.size());
    }
    // The stream positions at which the call began.
    Extent base_of(const Run &run) const {
        return run.tile == 0 ? Extent{run.bases[rank_], run.bulk_base}
                             : Extent{run.first_bases[rank_], run.first_bulk_base};
    }

    // waiting.cpp
    void end_stillness();
    void ring_readers(Run &run, const Step &step);
    void send_cell(Run &run, const Step &step, const StepReader &reader);
    void ring_watchers();
    void inquire(const Run &run, std::uint64_t waited_ns);
    std::string gone(const Run &run, int rank, transport::Presence presence) const;
    void diagnose(const Run &run, std::uint64_t waited_ns);
    [[noreturn]] void fail(Status status, const std::string &message);
    [[noreturn]] void interrupt(const Run &run) const;
    [[noreturn]] void refuse(const Call &call) const;
    void publish_wait_state(const Run &run);
    int awaited(const Run &run);
    void consider_stall(const Run &run, std::uint64_t waited_ns);
    Alert alert(const Run &run, std::uint64_t waited_ns, std::uint64_t longest_ns) const;
    Late late(const Run &run) const;
    std::string missing(const Run &run) const;
    bool stopped(int rank) const;
    std::string here(const Run &run) const;
    std::string at(const Run &run) const;
    void compare(std::uint64_t sequence, int rank);

    transport::Cell &cell(int rank, std::uint64_t position) const {
        return *reinterpret_cast<transport::Cell *>(segment_->cells(rank) +
                                                    (position & ring_mask_));
    }

    // Members are in the order in which a call needs them: the cost of a short call is the number
    // of cache lines that it touches.
    const std::shared_ptr<transport::Segment> segment_;
    const transport::Signals &signals_;
    const std::uint64_t ring_mask_;
    transport::LineBlock &mine_;
    const int rank_;
    std::uint64_t sequence_ = 0; // calls begun
    std::uint64_t oldest_ = 0;   // the first of them that is not complete
    std::uint64_t completed_ = 0;
    std::uint64_t history_ = 0; // signature of the last call
    const bool strings_;        // copies go by the string instruction
    const bool spins_;          // watches cells of other ranks; not between hosts
    const reduce::Pass copy_;
    const EngineOptions options_;
    struct Deadline {
        std::uint64_t end; // of now_ns()
        std::string why;
    };
    std::optional<Deadline> deadline_;
    trace::Recorder *const recorder_; // null: no trace is wanted
    const std::uint64_t patience_ticks_;
    Run own_; // of blocking calls
    using Bases = InlineVector<std::uint64_t, 4>;
    Bases bases_[2];               // position of every rank's cells at the next call, and
    unsigned now_ = 0;             // which of them: the other is the last call's
    std::uint64_t bulk_base_ = 0;  // and of this rank's bulk
    std::uint64_t unreported_ = 0; // bytes of rings taken since the last report to other hosts
    Stream stream_;                // the live part of this rank's rings
    StoreChoice store_;            // how to write cells
    transport::Attach attach_ = transport::Attach::unknown;
    transport::InPlace in_place_ = transport::InPlace::unknown;
    std::unique_ptr<transport::Attachments> attachments_; // null: none was needed
    // Operands from the memory of other ranks, a piece at a time.
    struct Pieces {
        std::vector<const void *> ins;
        std::vector<void *> outs;
        std::vector<std::byte> memory;
    } pieces_;
    const transport::Heap &heap_;
    const Describe describe_;
    StallWatch stall_watch_;
    std::uint64_t waited_until_ = 0; // ticks: waiting until then is counted
    // For callers that test: since when nothing has moved, by now_ns().
    struct Stillness {
        std::uint64_t since = 0, looked = 0; // 0: something has moved
        std::uint64_t asks_at = 0;           // as in a wait
        bool stands = false;
        CallDescriptor descriptor;
    } still_;
    Companion *const companion_; // null: none
    const Error exhausted_;      // made ahead
    // Steps of all calls in flight that an executor performs.
    std::shared_ptr<Bell> bell_;           // null: no call had an executor
    std::vector<Executor *> memory_users_; // that know of the communicator's memory
    // Memory of devices that ranks of this host share, by rank; null: this rank has shared none.
    transport::SharedDevice *devices_ = nullptr;
    std::unique_ptr<SharedLists> lists_;         // of these
    Executor *sharer_ = nullptr;                 // which watches them
    std::unique_ptr<PassDelegation> delegation_; // with them
    std::uint32_t issued_ = 0;                   // and not complete
    std::uint64_t nap_ns_ = transport::kNoNap;   // the longest sleep, for executors that are polled
    // Calls in flight that wait for what rings no doorbell, their gate or an answer: this rank
    // looks again and again.
    std::uint32_t unheard_ = 0;
};

} // namespace stretto::engine
