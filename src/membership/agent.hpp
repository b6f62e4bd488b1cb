// SPDX-License-Identifier: BSD-3-Clause
// The agent of a rank: a thread that plays this rank's part in the membership protocol, whatever
// the rank itself does meanwhile.
//
// Only that thread touches the state of the protocol, sends and receives.  Callers put requests
// into its inbox and wait for its answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "membership/clocks.hpp"
#include "membership/heartbeats.hpp"
#include "membership/links.hpp"
#include "membership/member.hpp"

namespace stretto::membership {

// The answer of a coordinator's hook: a value, which is decided; or no value yet.  Then the hook is
// called again when the next member asks, and at the time `again` of the agent's clock.
struct Answer {
    Answer(std::string chosen) : value(std::move(chosen)) {}
    static Answer not_before(std::uint64_t time) {
        Answer answer{std::string()};
        answer.value.reset();
        answer.again = time;
        return answer;
    }

    std::optional<std::string> value;
    std::uint64_t again = 0;
};

// Called by the agent's thread: they must not wait, nor call a function that waits for the agent.
// Each may be left out.
struct Hooks {
    // The epoch has ended; the other members have been sent the reason.
    std::function<void(std::uint32_t epoch, const Reason &reason)> revoked;
    // A member no longer belongs to the members that are left (suspicions.hpp).
    std::function<void(int rank)> lost;
    // What this rank does at present.
    std::function<WaitReport()> wait_report;
    // At the coordinator: makes a decision.  Either member `from` (perhaps this rank) asks and
    // proposes `value`; or the time for the decision has come, and `from` is kNoRank.
    std::function<Answer(std::uint64_t key, int from, const std::string &value)> choose;
    // At the coordinator: member `from` (perhaps this rank) has sent a notice for a decision that
    // is not made yet.
    std::function<void(int from, std::uint64_t key, std::int64_t value)> noticed;
    // This rank has a decided value; other members may not have it yet.
    std::function<void(std::uint64_t key, const std::string &value)> decided;
    // Where a rank is: "node07, 10.0.0.7".
    std::function<std::string(int rank)> place;
    // After each round of the agent's loop: at least once for each interval of heartbeats, and at
    // each time that was given to come_round().
    std::function<void()> round;
};

struct AgentOptions {
    int rank = 0;
    View founding;
    Heartbeats::Times heartbeats = {};
    std::function<std::uint64_t()> clock = now_ns; // nanoseconds, never going back
};

class Agent final : private Links::Listener {
public:
    // `links` outlives the agent.
    Agent(AgentOptions options, Links &links, Hooks hooks = {});
    // Sends goodbye to the other members, so that they do not take this rank for dead.
    ~Agent();
    Agent(const Agent &) = delete;
    Agent &operator=(const Agent &) = delete;

    // Any thread may call the functions below.

    // The view in force, or the last that was.
    View view() const;
    // Whether the epoch has ended.  Costs a load: a call checks this before it returns success.
    bool revoked() const { return revoked_.load(std::memory_order_acquire); }
    std::optional<Reason> reason() const;

    // Ends `epoch`, if it is still in force, for all members.  When this returns, the other members
    // have been sent the reason.  Gives the first reason for which the epoch ended, or nothing if
    // the next view is in force already.
    std::optional<Reason> revoke(std::uint32_t epoch, Status status, std::string text);
    // The same without a wait, for hooks and other callers that must not wait: the agent sends the
    // reason soon, at the latest before its own end.
    void fail(std::uint32_t epoch, Status status, std::string text);
    // Agrees with the other members on the next view.  Waits until each member has called shrink,
    // is found dead, or has not called it for `patience` nanoseconds (0: for ever).  Throws
    // Error(argument) if the epoch was not revoked.
    action::Shrunk shrink(std::uint64_t completed, std::uint64_t patience);
    // The value that all members get for this key; `coordinator` is a function of the key.  While
    // it waits it calls `meanwhile` every few milliseconds, if that is given.  Throws
    // Error(revoked) if the epoch ends first.
    std::string decide(std::uint64_t key, int coordinator, std::string value,
                       const std::function<void()> &meanwhile = {});
    // At the coordinator, this rank: decides this key at the time `when` of the clock, unless a
    // member asks and gets a value before.  A second call for a key replaces the time.  Does not
    // wait.
    void decide_at(std::uint64_t key, std::uint64_t when);
    // Sends the coordinator a value for its hook `noticed`.  Does not wait.
    void notify(std::uint64_t key, int coordinator, std::int64_t value);
    // Makes the agent's thread run a round, and so the hook `round`, at the time `when` of the
    // clock.
    void come_round(std::uint64_t when);
    // Forgets the decisions of all keys with from <= key < below: no rank will ask for them again.
    void forget_decisions(std::uint64_t from, std::uint64_t below);
    // The wait reports of these ranks, by rank; nothing for a rank that does not answer within this
    // time.
    std::vector<std::optional<WaitReport>> where(const RankSet &ranks, std::uint64_t nanoseconds);
    // The table of clocks, once there is one.
    std::optional<Offsets> clocks() const;

private:
    struct Bytes {
        int from;
        std::vector<std::byte> bytes;
    };
    struct Broken {
        int rank;
        std::string why;
    };
    struct Question {
        std::uint64_t ticket;
        RankSet ranks;
    };
    struct OutgoingNotice {
        int coordinator;
        Notice notice;
    };
    struct DecisionTime {
        std::uint64_t key, when;
    };
    struct Round {
        std::uint64_t when;
    };
    using Item = std::variant<Bytes, Broken, Question, Event, OutgoingNotice, DecisionTime, Round>;

    void on_bytes(int from, std::span<const std::byte> bytes) override;
    void on_broken(int rank, std::string_view why) override;
    void on_restored(int rank) override;
    // Puts an item into the inbox.
    void put(Item item) {
        {
            const std::lock_guard lock(mutex_);
            inbox_.push_back(std::move(item));
        }
        links_.wake();
    }

    // The functions below are called by the agent's thread.
    void run();
    void work();
    void handle(Bytes &item);
    void handle(Broken &item);
    void handle(Question &item);
    void handle(Event &event);
    void handle(OutgoingNotice &item);
    void handle(DecisionTime &item) { decision_times_[item.key] = item.when; }
    void handle(Round &item) { rounds_.insert(item.when); }
    std::uint64_t next_deadline() const;
    void make_due_decisions();
    void receive(int from, Message message);
    void serve(int from, const Message &message);
    void step(const Event &event);
    void report_lost();
    void act(const action::Send &action);
    void act(const action::Revoked &action);
    void act(const action::Shrunk &action);
    void act(const action::ValueDecided &action);
    void send(int to, Body body);
    void suspect(int rank, std::string why);
    WaitReport wait_report() const;
    void record(int rank, const Here &here);
    void notice(int from, const Notice &notice);
    bool choose(std::uint64_t key, int from, std::string &value);
    void watch_members();
    void suspect_absent(std::uint64_t now);
    void read_clocks(const RankSet &pinged, std::uint64_t now);
    int reference() const; // of clocks: the lowest member
    void collapse(const char *why);
    std::string describe(int rank, const std::string &what) const;

    const AgentOptions options_;
    Links &links_;
    const Hooks hooks_;

    Member member_;
    Heartbeats heartbeats_;
    ClockFilter filter_;
    RankSet left_in_order_;   // ranks that have sent goodbye
    RankSet lost_;            // ranks that the hook `lost` was called with
    std::vector<Item> items_; // to be handled next
    std::map<int, std::uint64_t> awaited_since_;
    std::map<std::uint64_t, std::uint64_t> decision_times_; // by key
    std::set<std::uint64_t> rounds_;                        // times given to come_round()

    mutable std::mutex mutex_; // guards the members up to table_
    std::condition_variable answers_;
    std::vector<Item> inbox_;
    bool stop_ = false;
    bool collapsed_ = false; // the thread has ended with an exception
    View view_;
    std::optional<Reason> reason_;
    std::optional<action::Shrunk> shrunk_;
    std::map<std::uint64_t, std::string> decisions_; // of this epoch
    std::uint64_t tickets_ = 0;
    std::map<std::uint64_t, std::vector<std::optional<WaitReport>>> asked_;
    ClockTable table_;

    std::atomic<bool> revoked_ = false;
    std::atomic<std::uint64_t> patience_ = 0; // of the latest shrink
    std::thread thread_;
};

} // namespace stretto::membership
