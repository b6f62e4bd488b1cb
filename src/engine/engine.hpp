// SPDX-License-Identifier: BSD-3-Clause
// The engine: plays plans over the shared segment, one rank's part.
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
#include "engine/plan.hpp"
#include "engine/run.hpp"
#include "engine/stall.hpp"
#include "engine/store_choice.hpp"
#include "engine/stream.hpp"
#include "reduce/kernels.hpp"
#include "reduce/strings.hpp"
#include "trace/recorder.hpp"
#include "transport/doorbell.hpp"
#include "transport/heap.hpp"
#include "transport/segment.hpp"

namespace stretto::engine {

struct EngineOptions {
    std::uint64_t spin_ns = 0;           // before yielding
    std::uint64_t timeout_ns = 0;        // 0: wait for ever
    std::string who;                     // this rank, as it is called in errors: "rank 3 on node7"
    trace::Recorder *recorder = nullptr; // of the trace; null: none is wanted
};

// What else a rank gets done while it waits in a call.
class Companion {
public:
    virtual ~Companion() = default;
    // True if anything was done.  May be called whenever its owner waits, by any of its threads.
    virtual bool progress() = 0;
};

class Engine {
public:
    // `describe` turns what a rank said of its call into words, for errors.
    using Describe = std::function<std::string(const Said &)>;

    Engine(std::shared_ptr<transport::Segment> segment, int rank, const transport::Heap &heap,
           EngineOptions options, Describe describe, Companion *companion = nullptr);
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    // Plays a call to its end.  Throws Error if it, or the communicator, has failed.
    void play(const Call &call, Tally &tally);
    // The same with a trace: so that without one nothing need be asked.
    void play_traced(const Call &call, Tally &tally);
    bool traced() const { return recorder_ != nullptr; }

    // The same in parts, for calls that outlive their caller: launch() gives the call its place in
    // the order of all calls, attempt() does what can be done now; true if that was anything.
    void launch(Run &run, const Call &call, const Tally &tally);
    bool attempt(Run &run);
    // Of a run that is given up: when this returns, no executor touches the memory of its call.
    void drain(Run &run);
    static bool complete(const Run &run) {
        return run.next == run.plan->steps.size() && run.lent == 0 && run.tiles_left == 0;
    }
    // `oldest` of those that are still in flight; null if none is.
    void end(Run &run, Tally &tally, const Run *oldest = nullptr);

    // Waits until `attempt` gets something done, and looks for what is wrong. `run` is the oldest
    // call that waits; whoever waits beside the caller gives up the core sooner than the caller.
    void wait(Run &run, const std::function<bool()> &attempt, bool caller);

    // For a caller that tests calls in place of waiting: nothing has moved since the last time, or
    // something has.  `run` is the oldest call; it is looked into as in a wait.
    void look_into(Run &run);
    void moved() {
        if (still_.since != 0) [[unlikely]]
            end_stillness();
    }

    // Ends the communicator if some rank made another call than this one, or in another way, where
    // we made call `sequence`.
    void judge(std::uint64_t sequence);
    // Until further notice waits end at a point in time (of now_ns(); UINT64_MAX: never) instead of
    // after the options' timeout, with an error that ends with `why`.
    void end_waits_at(std::uint64_t deadline, std::string why);
    void end_waits_as_ever() { deadline_.reset(); }
    // Calls begun.
    std::uint64_t calls() const { return sequence_; }
    // Errors and traces number calls from the next one on, which is 0; so on all ranks.
    void number_from_here() { segment_->number_from(sequence_); }
    // Calls that are complete, without a gap.  Those of the last moment, of which nobody may have
    // the result, are not among them once the communicator has failed.
    std::uint64_t completed() const { return completed_; }

    // Forgets the plans of all calls that were made; false if other ranks still need one.
    bool forget();

    // Of waits in which a rank does not come.
    StallWatch &stall_watch() { return stall_watch_; }

    const transport::Segment &segment() const { return *segment_; }

private:
    void begin(Run &run, const Call &call, const Tally &tally);
    static void prepare(Run &run);
    static void finish(const Run &run);
    static void begin_tiles(Run &run);
    static void follow(Run &run);
    static bool next_tile(Run &run);
    void announce(const Run &run);
    void pass_by(const Plan &plan);
    void let_them_write(const Plan &plan);
    // How the steps of a call are performed: what plays them is compiled for each way.
    enum class Mode { here, traced, elsewhere };
    template<Mode mode>
    void play_as(const Call &call, Tally &tally);
    void play_elsewhere(const Call &call, Tally &tally);
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
                 std::uint64_t where);
    template<Mode mode>
    bool execute(Run &run, const Step &step);
    void close(Run &run, Tally &tally, const Run *oldest);
    void tell_writers(transport::Bridge &bridge, const Plan &plan, const Run *oldest);
    void reduce_by_user(const Run &run, const Step &step, int outs);
    void report(const Run &run);

    // elsewhere.cpp
    void expect_executor(Run &run);
    bool issue(Run &run, const Step &step, int outs, std::uint64_t where);
    void collect(Run &run);
    void forget_issued(Run &run, std::uint32_t step);

    // tracing.cpp
    void execute_traced(Run &run, const Step &step);
    void trace_begin(const Run &run);
    void trace_step(const Run &run, const Step &step, std::uint64_t begin);
    void trace_wait(const Run &run);

    // sharing.cpp
    bool storable(Run &run, const Step &step);
    static bool lends(const Run &run, const Step &step) {
        return step.lend != Direct::never && run.call->input_heap != 0 &&
               (step.lend == Direct::always || !run.call->in_place);
    }
    void lend(Run &run, const Step &step);
    int push(const Run &run, const Step &step, void **outs);
    bool released(const Run &run, const Step &step) const;

    // The progress of a rank that comes to this tile, and own steps before it.
    static std::uint64_t before_tile(const Run &run) {
        return progress_of(run.sequence, run.origin);
    }
    static std::uint32_t steps_before(const Run &run) {
        return run.tile * static_cast<std::uint32_t>(run.call->plan->steps.size());
    }
    // Where the streams were when the call began.
    Extent base_of(const Run &run) const {
        return run.tile == 0 ? Extent{run.bases[rank_], run.bulk_base}
                             : Extent{run.first_bases[rank_], run.first_bulk_base};
    }

    void end_stillness();

    // waiting.cpp
    void ring_readers(Run &run, const Step &step);
    void ship(Run &run, const Step &step, const StepReader &reader);
    void ring_all();
    void inquire(const Run &run, std::uint64_t waited_ns);
    void diagnose(const Run &run, std::uint64_t waited_ns);
    [[noreturn]] void fail(Status status, const std::string &message);
    [[noreturn]] void interrupt(const Run &run) const;
    [[noreturn]] void refuse(const Call &call) const;
    void stand(const Run &run);
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

    // In the order in which a call needs them: a short call costs as much as the cache lines that
    // it touches.
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
    const bool spins_;          // on what others write: not where a bridge must bring it
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
    Bases bases_[2];              // position of every rank's cells at the next call, and
    unsigned now_ = 0;            // which of them: the other is the last call's
    std::uint64_t bulk_base_ = 0; // and of our bulk
    std::uint64_t untold_ = 0;    // bytes of rings since other hosts were told what was taken
    Stream stream_;               // what is live in our own rings
    StoreChoice store_;           // how to write cells
    const transport::Heap &heap_;
    const Describe describe_;
    StallWatch stall_watch_;
    // How long nothing has moved, by now_ns(), where callers test.
    struct Stillness {
        std::uint64_t since = 0, looked = 0; // 0: something has
        std::uint64_t asks_at = 0;           // as in a wait
        bool stands = false;
        Said said;
    } still_;
    Companion *const companion_; // null: none
    // Of steps that an executor performs, of all calls in flight.
    static constexpr std::uint64_t kNoNap = ~std::uint64_t{0};
    std::shared_ptr<Bell> bell_;    // null: no call had an executor
    std::uint32_t issued_ = 0;      // and not complete
    std::uint64_t nap_ns_ = kNoNap; // how long a sleep may last, for those that are polled
};

} // namespace stretto::engine
