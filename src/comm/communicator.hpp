// SPDX-License-Identifier: BSD-3-Clause
// The communicator: a rank's view of its job, and the collectives it can call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arrival/history.hpp"
#include "arrival/phase.hpp"
#include "base/memo.hpp"
#include "base/types.hpp"
#include "calls/call_descriptor.hpp"
#include "calls/plan_inputs.hpp"
#include "calls/request.hpp"
#include "calls/shares.hpp"
#include "comm/arrival_state.hpp"
#include "comm/bootstrap.hpp"
#include "comm/environment.hpp"
#include "comm/notes.hpp"
#include "engine/engine.hpp"
#include "engine/queue.hpp"
#include "p2p/messenger.hpp"
#include "schedule/contract.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"
#include "select/forced.hpp"
#include "select/late.hpp"
#include "select/profile.hpp"
#include "select/select.hpp"
#include "select/trial.hpp"
#include "trace/recorder.hpp"
#include "transport/heap.hpp"
#include "transport/late_rank_detector.hpp"
#include "transport/segment.hpp"

namespace stretto::comm {

using namespace calls;

class Communicator {
public:
    explicit Communicator(const Identity &identity, const ParentContext *origin = nullptr);
    // Does not wait for anybody; outstanding flights are abandoned.
    ~Communicator() { queue_.leave(); } // which needs plans and sites until then

    int rank() const { return me_.rank; }
    int size() const { return me_.size; }
    const Identity &identity() const { return me_; }
    const std::shared_ptr<transport::Segment> &segment() const { return segment_; }
    // For communicators made of this one.
    const JobContext &reach() const { return joined_.reach; }
    // Calls of collectives so far: the same on all ranks after each.
    std::uint64_t calls() const { return engine_.calls(); }
    // Of those, from the first on, how many this rank has completed; to be asked after quiesce().
    std::uint64_t completed();
    // Whether it is the job's own: that of stretto_init, or what is left of it.
    bool of_job() const { return of_job_; }
    // It has failed: when this returns, nobody here writes into a caller's memory any more.
    void quiesce();

    void play(const Request &request);
    // Plans a call, so that making it costs nothing more.
    void prepare(const Request &request);

    // Runs a part of a collective call.  If it fails on this rank alone, for want of memory for
    // instance, the others are told, who would wait for it: the communicator has failed.  What
    // refuses the call for what it says (argument, unsupported) does so on all ranks alike.
    template<class Body>
    decltype(auto) together(Body &&body) {
        try {
            return body();
        } catch (...) {
            fail_together();
        }
    }
    // The same, to be called where an exception is handled.
    [[noreturn]] void fail_together();
    // A caller is told this of what ran aside: if it is why the communicator has failed, it knows.
    void knows(const Error &error) noexcept;
    // Throws Error(revoked) if a caller knows of a failure, as calls of collectives do anyway.
    void admit();

    void barrier() { play(barrier_request()); }
    // A barrier is an allreduce of a number that nobody looks at.
    Request barrier_request() {
        return {Collective::barrier, &token_[0], &token_[1], 1, Dtype::i32, ReduceOp::sum, 0};
    }
    engine::Queue::InFlightCall *start(const Request &request);
    void land(engine::Queue::InFlightCall *flight); // waits for it to end
    // Tells of calls in which a rank does not come (engine/stall.hpp).  Any thread.
    void set_stall_callback(engine::StallWatch::Raise raise, double factor,
                            std::uint64_t floor_ns) {
        engine_.stall_watch().set(std::move(raise), factor, floor_ns);
    }
    // The computation before the next call begins; so much of it is done, above 0 and up to 1.  The
    // latter may be called by any thread, and outside of phases does nothing.
    void begin_phase();
    void edge(double fraction);
    // Gives the request these counts, one for each rank, if they are unequal; else their count.
    // It must be played or started before another is given counts.
    void share(Request &request, std::span<const std::size_t> counts);
    // exchange.cpp
    using Transfers = InlineVector<p2p::Transfer *, 1>;
    struct Begun {
        Transfers transfers;
        std::uint64_t call = 0; // its number
    };
    // Takes its turn among the collectives and starts what must travel; to be waited for and landed
    // by the messenger, after which it is over.  Throws what ends the communicator.
    Begun exchange(const Exchange &what);
    void exchanged(std::uint64_t call);
    // Who waited for one says when it came to it, by now_ns().
    void spent(Collective collective, std::uint64_t came);
    // Nanoseconds that make others read this clock as theirs, if known and not shared.  It drifts.
    std::optional<std::int64_t> clock_offset() const;
    // The trace of this rank, which communicators made of this one share; null: none is wanted.
    std::shared_ptr<trace::Buffer> trace() const {
        return recorder_ ? recorder_->shared_buffer() : nullptr;
    }
    // Writes it, of a communicator of the whole job.  Throws Error.
    void finish_trace();
    // The same of what this rank notes of its calls.
    const std::shared_ptr<arrival::CallLog> &call_log() const { return notes_.log; }
    engine::Queue &queue() { return queue_; }
    p2p::Messenger &messenger() { return messenger_; }
    transport::Heap &heap() { return heap_; }

    // Rules as of select/forced.hpp; empty or "auto": the library chooses.  Throws
    // Error(argument) for what does not exist, Error(unsupported) for what cannot run here.  `by`
    // is who wants it, in words.  `where_possible`: the library chooses for those.
    // Files that they name are read, and proved, now.
    void force(std::string_view rules, std::string by, bool where_possible = false);
    // How far results repeat, from the next call on; the same on all ranks.
    void set_reproducible(select::Reproducible mode);
    // Waits until all ranks have made a communicator on several hosts: before, none can rely on it.
    void settle(const ParentContext &origin);
    // Of the job's own communicator, after it was made and before any other call: on several hosts
    // what the network is like, the same on all ranks.  Throws what any call throws, on all of
    // them.
    void learn();
    // What choices go by; it does not change.
    const select::Profile &profile() const { return profile_; }
    // With what trials have found since.
    select::Profile profile_and_trials() const;
    // What is worth measuring for such a call, in JSON (select/profile_json.hpp).
    std::string tuning_candidates(const Request &request) const;
    // What was set for `other` holds here as well: the algorithm only if asked for.
    void inherit(const Communicator &other, bool algorithm);
    std::string chosen(const Request &request);

    Stats stats();
    void reset_stats();
    // probe.cpp
    double probe();

private:
    // All that a repeated call needs, found by one look-up.
    struct CallEntry {
        const engine::Plan *plan = nullptr;
        reduce::Pass reduce = nullptr;
        std::uint64_t fingerprint = 0;
        std::uint64_t what = 0; // for those who ask what this rank has called
        engine::Tally tally;
        std::size_t input_first = 0, output_first = 0; // bytes of the vector before the buffers
        std::size_t input_bytes = 0, output_bytes = 0; // of the buffers
        InPlace in_place = InPlace::over;
        bool tries = false;   // its trial is not over (trials.cpp)
        bool watches = false; // when ranks come to it (arrivals.cpp)
        arrival::CallLog::Calls *noted = nullptr, *noted_beside = nullptr; // null: not yet
        std::unique_ptr<const engine::Extra> extra;                        // null for most
        std::unique_ptr<const engine::Execution> elsewhere; // null: callers perform its passes
    };
    struct Key {
        std::uint64_t what = ~0ull, count = 0;
        std::size_t terms = 0; // index among all terms that were ever in force | operation << 32
        std::uint32_t shares = 0;
        bool operator==(const Key &) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key &key) const {
            return static_cast<std::size_t>(
                (key.what ^ (key.count << 7) ^ (key.terms << 24)) * 0x9e3779b97f4a7c15u >> 7);
        }
    };

    // What holds for calls besides their arguments.
    struct CallPolicy {
        std::vector<select::ForcedRule> forced; // none: the library chooses
        std::string forced_by;                  // in words
        select::Reproducible reproducible = select::Reproducible::off;
        bool operator==(const CallPolicy &) const = default;
    };

    static trace::CallWords words(std::uint64_t what);
    const CallPolicy &terms() const { return all_terms_[terms_now_]; }
    // Where bits must not depend on how operands are put together, each pair is rounded.
    reduce::Rounding rounding() const {
        return terms().reproducible == select::Reproducible::full ? reduce::Rounding::each
                                                                  : reduce::Rounding::once;
    }
    void agree(CallPolicy terms);
    std::uint64_t what(const Request &request) const;
    std::string describe(const engine::Said &said) const;
    std::size_t vector_count(const Request &request) const;
    // choosing.cpp
    select::Situation situation(const Request &request) const;
    Chosen choice_for(const Request &request) const;
    select::Situation free_situation(const Request &request) const;
    select::Measured kind_of(const Request &request) const;
    // trials.cpp
    bool tries(const Request &request, const Chosen &chosen) const;
    void resume_trial(const Key &key, Chosen &chosen) const;
    void play_trial(const Request &request, CallEntry &site);
    void conclude(const Request &request, select::Trial &trial);
    void serve(const Request &request, CallEntry &site, const Chosen &chosen);
    // arrivals.cpp: when ranks came to calls that repeat.
    bool watches(const Request &request, const Chosen &chosen) const;
    bool made_for_arrivals(const Request &request, const Chosen &chosen) const;
    void resume_watch(const Request &request, Chosen &chosen);
    static void serve_late(const select::Late &late, Chosen &chosen);
    std::int64_t common(std::uint64_t time) const;
    void play_watched(const Request &request, CallEntry &site);
    void play_with_stamps(const Request &request, ArrivalState &watched);
    ArrivalState *watched(const Request &request);
    void learn_arrivals(const Request &request, ArrivalState &watched);
    void decide(const Request &request, ArrivalState &watched);
    void adopt(const Request &request, ArrivalState &watched);
    void settle(const Request &request, ArrivalState &watched, const select::Arrivals &expected,
                const select::Late &next);
    const Chosen &balanced(const Request &request, ArrivalState &watched) const;
    // rooted.cpp
    void play_rooted(const Request &request, ArrivalState &watched);
    void report(const ArrivalState &watched, std::uint64_t came);
    void adopt_rooted(const Request &request, ArrivalState &watched);
    void expect_decision(const Request &request, ArrivalState &watched, std::uint64_t after);
    // phases.cpp: of computation, between calls.
    bool end_phase(const ArrivalState &watched, std::uint64_t now);
    void learn_phase(const ArrivalState &watched);
    void serve_as_told(const Request &request, ArrivalState &watched);
    Chosen usual(const Request &request, ArrivalState &watched) const;
    void serve_as_usual(const Request &request, ArrivalState &watched);
    void serve_prepared(const Request &request, ArrivalState &watched, const Chosen &chosen);
    std::string sealed(std::uint64_t key, const ArrivalState &watched);
    void forget_before(std::uint64_t key);
    void forget_sealed(std::uint64_t key, const ArrivalState &watched);
    void warm_for_next(const Request &request, ArrivalState &watched, std::uint64_t came);
    std::function<void(const engine::Plan &)> warm_for() const;
    // elections.cpp
    // How long ranks wait for others, in nanoseconds, before any of them begins: then the call
    // itself looks for what is wrong, and says so.
    static std::uint64_t patience();
    void call_the_roll(const ArrivalState &watched);
    void serve_by_election(const Request &request, ArrivalState &watched);
    // late_ranks.cpp: the same of ranks that share memory.
    static bool made_for_musters(const Chosen &chosen);
    Chosen elected(const Request &request, ArrivalState &watched);
    void play_mustered(const Request &request, ArrivalState &watched);
    void expect_next(const Request &request, ArrivalState &watched);
    void prepare(const Request &request, ArrivalState &watched, std::uint64_t key);
    // What serves one call; what serves from it on.  AnnouncedArrivals: when a rank came to it;
    // what the one before took it.
    enum class Asked { call, usual, came, took };
    std::uint64_t key_of(const ArrivalState &watched, Asked asked) const {
        return key_of(watched, asked, watched.calls);
    }
    std::uint64_t key_of(const ArrivalState &watched, Asked asked, std::uint64_t call) const;
    int arbiter_of(const ArrivalState &watched) const;
    bool is_arbiter(const ArrivalState &watched) const;
    void log_choice(const Request &request, const Chosen &chosen) const;
    CallEntry &site_of_call(const Request &request);
    void announce_refusal(const Request &request, std::uint64_t why);
    // Sites and their plans are forgotten only where a caller's call begins and nothing of it holds
    // one yet, and only if the call needs a new one: make_room() comes before everything else.
    void make_room(const Request &request);
    CallEntry &site(const Request &request);
    Key key_of(const Request &request) const;
    std::uint64_t fingerprint(const Request &request, const CallEntry &site) const;
    CallEntry make_site(const Request &request);
    std::unique_ptr<const engine::Extra> extra(const Request &request, const CallEntry &site) const;
    std::unique_ptr<const engine::Execution> elsewhere(const Request &request,
                                                       const CallEntry &site) const;
    void forget();
    void count_own_call(std::uint64_t ahead = 0); // so many calls behind the next
    std::uint64_t all_completed();
    static void add(Stats &stats, const Key &key, const CallEntry &site);
    PlanInputs recipe(const Request &request) const;
    std::string plan_key(const Request &request, const Chosen &chosen) const;
    std::shared_ptr<const engine::Plan> known_plan(const Request &request,
                                                   const Chosen &chosen) const;
    Planned make_plan(const Request &request, const Chosen &chosen);
    const engine::Plan &plan(const Request &request, const Chosen &chosen, Planned made = nullptr);
    engine::Call call(const Request &request, const CallEntry &site, bool overlaps);
    const engine::Plan *turn();
    std::uint64_t take_turn(const Exchange &what);
    Begun start_exchange(const Exchange &what);
    using MakeSchedule = std::function<schedule::Schedule()>;

    // Leaves the job also when the communicator could not be made.
    struct Membership {
        Joined &joined;
        const int rank;
        ~Membership();
    };

    [[noreturn]] void tell();
    // network.cpp
    void play_unseen(const std::string &key, const MakeSchedule &make, void *data,
                     std::size_t bytes);
    // tracing.cpp
    RankIdentity in_files() const;
    trace::Recorder *start_trace(const ParentContext *origin);
    void note_clock();
    void trace_failure(const Error &failure) noexcept;
    // reporting.cpp
    std::shared_ptr<arrival::CallLog> start_call_log(const ParentContext *origin) const;
    // Who is alone is never late.
    bool notes() const { return notes_.log != nullptr && size() > 1; }
    void play_noted(const Request &request);
    void note_exchange(Collective collective, std::uint64_t came, std::uint64_t left);
    arrival::CallLog::Calls &noted(std::uint64_t what, std::uint64_t count,
                                   std::uint64_t bytes) const;
    std::int64_t offset_at(std::uint64_t now);
    void play_unnoted(const Request &request);
    void play_at(const Request &request, CallEntry &site);

    const Identity me_;
    const bool of_job_;
    // Of the trace, if one is wanted.  The carrier's thread may use it.
    std::unique_ptr<trace::Recorder> recorder_;
    std::unique_ptr<transport::Traffic> traffic_;
    Joined joined_;
    const std::shared_ptr<transport::Segment> segment_;
    const Membership membership_;
    trace::Recorder *const tracing_; // null: no trace is wanted
    Notes notes_;
    transport::Heap heap_;
    p2p::Messenger messenger_;
    engine::Engine engine_;
    engine::Queue queue_;

    select::Profile profile_;
    std::vector<CallPolicy> all_terms_{{}}; // that were ever in force
    std::size_t terms_now_ = 0;
    Shares shares_;
    Memo<Key, CallEntry, KeyHash> sites_;
    // Trials outlive their sites, as ranks forget sites one by one and must not forget these.
    static constexpr std::size_t kMostTrials = 1024;
    const bool tries_;
    std::unordered_map<Key, select::Trial, KeyHash> trials_;
    // By trials that are over.  Choices do not go by it: a rank may make one anew at a moment when
    // the others do not, and must come to the same.
    std::vector<select::Measured> found_;
    static constexpr std::size_t kMostWatchedKinds = 64; // these outlive their sites as well
    const bool watches_;
    std::unordered_map<Key, ArrivalState, KeyHash> watched_;
    transport::LateRankDetector late_rank_detector_; // where all share memory
    ArrivalState *late_ranks_ = nullptr;             // of its last turn
    std::vector<arrival::Stamp> came_;               // to the call in progress, by rank
    std::mutex phase_mutex_; // of what follows, as any thread may tell of the phase
    arrival::Phase phase_;
    std::map<std::uint64_t, Next> next_; // by the numbers of calls
    engine::Tally uncounted_;            // of calls that no caller made
    // Calls that no caller made: how many below all that are not complete, and the numbers of later
    // ones.
    std::uint64_t own_before_ = 0;
    std::vector<std::uint64_t> own_calls_;
    std::map<std::string, std::shared_ptr<const engine::Plan>> plans_;
    std::size_t plan_bytes_ = 0;
    const std::size_t most_plan_bytes_;
    const bool logs_choices_;
    std::set<std::string> logged_; // keys of plans, also of those that were forgotten
    Stats past_;                   // of sites that were forgotten, and of exchanges
    std::unique_ptr<const engine::Plan>
        turn_;                          // the plan of a call in which the engine moves nothing
    std::mutex exchanges_mutex_;        // of what follows
    std::set<std::uint64_t> exchanges_; // numbers of those that are not over
    std::uint64_t first_call_ = 0;      // of callers: those before were made while it was created
    std::int32_t token_[2] = {0, 0};    // what a barrier reduces
    const Error exhausted_;
    std::atomic<bool> told_{false}; // of the failure: from now on calls are refused for it
};

} // namespace stretto::comm
