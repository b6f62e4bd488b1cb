// SPDX-License-Identifier: BSD-3-Clause
// The agent of a rank: a thread that plays this rank's part in the membership protocol, whatever
// the rank itself does meanwhile.
//
// All that the protocol knows is touched by that thread alone, which also sends and receives.
// Callers put what they have to say into its inbox, and then wait for what it answers.
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

// What a coordinator says who is asked: a value, which is decided, or nothing yet; then it is asked
// again when the next member asks, and at this time of the agent's clock.
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

// Called by the agent's thread: they must not wait, nor call what waits for the agent.  Each may
// be left out.
struct Hooks {
    // The epoch has ended; the others have been told.
    std::function<void(std::uint32_t epoch, const Reason &reason)> revoked;
    // A member is not among those who are left any more.
    std::function<void(int rank)> lost;
    // What this rank does just now.
    std::function<WaitReport()> wait_report;
    // At the coordinator: what to decide, now that a member asks, perhaps this one, who would
    // choose that value; or kNoRank, when it is time.
    std::function<Answer(std::uint64_t key, int from, const std::string &value)> choose;
    // At the coordinator: what a member, perhaps this one, expects of a choice that is not made
    // yet.
    std::function<void(int from, std::uint64_t key, std::int64_t value)> noticed;
    // This rank has got a decided value; others may have to be told of it yet.
    std::function<void(std::uint64_t key, const std::string &value)> decided;
    // Where a rank is: "node07, 10.0.0.7".
    std::function<std::string(int rank)> place;
    // Whenever the agent has done something, at least once for each interval of heartbeats, and
    // when a round was asked for.
    std::function<void()> round;
};

struct AgentOptions {
    int rank = 0;
    View founding;
    Heartbeats::Times heartbeats = {};
    // How long shrink waits for a member that lives but does not call it; 0: for ever.
    std::uint64_t patience = 600'000'000'000;
    std::function<std::uint64_t()> clock = now_ns; // nanoseconds, never going back
};

class Agent final : private Links::Listener {
public:
    // `links` outlives the agent.
    Agent(AgentOptions options, Links &links, Hooks hooks = {});
    // Says goodbye: the others do not take it for dead.
    ~Agent();
    Agent(const Agent &) = delete;
    Agent &operator=(const Agent &) = delete;

    // The members below may be called by any thread.

    // The view in force, or the last that was.
    View view() const;
    // Whether the epoch in force has ended.  Costs a load: to be asked before a call returns
    // success.
    bool revoked() const { return revoked_.load(std::memory_order_acquire); }
    std::optional<Reason> reason() const;

    // Ends the epoch, if it is still this one, for all.  When this returns, the others have been
    // told; the reason is the first that was given, or nothing if there is another view already.
    std::optional<Reason> revoke(std::uint32_t epoch, Status status, std::string text);
    // The same for those who cannot wait, the hooks among them: the others are told soon, at the
    // latest before the agent's end.
    void fail(std::uint32_t epoch, Status status, std::string text);
    // Agrees with the other members on who goes on.  Waits until all have called it, have been
    // found dead or have not come for `patience`.  Throws Error(argument) if nothing was revoked.
    action::Shrunk shrink(std::uint64_t completed);
    // The value that all members get for this key; `coordinator` is a function of the key.  Who
    // waits does something else now and then, if there is anything.  Throws Error(revoked) if the
    // epoch ends first.
    std::string decide(std::uint64_t key, int coordinator, std::string value,
                       const std::function<void()> &meanwhile = {});
    // This rank is the coordinator: at this time of the clock, or at the last one that is given, it
    // chooses unasked, unless it has been asked by then; a rank that asks finds the value there.
    // Waits for nobody.
    void decide_at(std::uint64_t key, std::uint64_t when);
    // Tells the coordinator what this rank expects, for its hook.  Waits for nobody.
    void notify(std::uint64_t key, int coordinator, std::int64_t value);
    // Asks for a round at this time of the clock.
    void come_round(std::uint64_t when);
    // Nobody asks for keys from the first one up to, but without, the other any more.
    void forget_decisions(std::uint64_t from, std::uint64_t below);
    // What these ranks do just now, by rank; nothing of those who do not answer in time.
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
    struct Told {
        int coordinator;
        Notice notice;
    };
    struct Ahead {
        std::uint64_t key, when;
    };
    struct Round {
        std::uint64_t when;
    };
    using Item = std::variant<Bytes, Broken, Question, Event, Told, Ahead, Round>;

    void on_bytes(int from, std::span<const std::byte> bytes) override;
    void on_broken(int rank, std::string_view why) override;
    void on_restored(int rank) override;
    // Into the inbox.
    template<class Alternative, class... Fields>
    void put(Fields &&...fields) {
        {
            const std::lock_guard lock(mutex_);
            inbox_.emplace_back(std::in_place_type<Alternative>, std::forward<Fields>(fields)...);
        }
        links_.wake();
    }

    // Of the agent's thread.
    void run();
    void work();
    void take(Bytes &item);
    void take(Broken &item);
    void take(Question &item);
    void take(Event &event);
    void take(Told &item);
    void take(Ahead &item) { ahead_[item.key] = item.when; }
    void take(Round &item) { rounds_.insert(item.when); }
    std::uint64_t next_to_do() const;
    void decide_what_is_due();
    void receive(int from, Message message);
    void serve(int from, const Message &message);
    void step(const Event &event);
    void tell_lost();
    void act(const action::Send &action);
    void act(const action::Revoked &action);
    void act(const action::Shrunk &action);
    void act(const action::ValueDecided &action);
    void send(int to, Body body);
    void suspect(int rank, std::string why);
    WaitReport wait_report() const;
    void note(int rank, const Here &here);
    void notice(int from, const Notice &notice);
    bool choose(std::uint64_t key, int from, std::string &value);
    void look_after_others();
    void lose_patience(std::uint64_t now);
    void read_clocks(const RankSet &pinged, std::uint64_t now);
    int reference() const; // of clocks: the lowest member
    void collapse(const char *why);
    std::string words(int rank, const std::string &what) const;

    const AgentOptions options_;
    Links &links_;
    const Hooks hooks_;

    Member member_;
    Heartbeats heartbeats_;
    ClockFilter filter_;
    RankSet left_in_order_;   // who has said goodbye
    RankSet lost_;            // of whom the hook has been told
    std::vector<Item> items_; // to be taken next
    std::map<int, std::uint64_t> awaited_since_;
    std::map<std::uint64_t, std::uint64_t> ahead_; // when to decide, by key
    std::set<std::uint64_t> rounds_;               // that were asked for

    mutable std::mutex mutex_; // guards what follows
    std::condition_variable answers_;
    std::vector<Item> inbox_;
    bool stop_ = false;
    bool collapsed_ = false; // the thread cannot go on
    View view_;
    std::optional<Reason> reason_;
    std::optional<action::Shrunk> shrunk_;
    std::map<std::uint64_t, std::string> decisions_; // of this epoch
    std::uint64_t tickets_ = 0;
    std::map<std::uint64_t, std::vector<std::optional<WaitReport>>> asked_;
    ClockTable table_;

    std::atomic<bool> revoked_ = false;
    std::thread thread_;
};

} // namespace stretto::membership
