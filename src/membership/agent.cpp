// SPDX-License-Identifier: BSD-3-Clause
#include "membership/agent.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "base/call_scope.hpp"
#include "base/status.hpp"
#include "base/thread.hpp"

namespace stretto::membership {

namespace {

// At most 11 days, longer than any caller waits: so sums do not overflow.
std::chrono::nanoseconds duration(std::uint64_t nanoseconds) {
    return std::chrono::nanoseconds(std::min<std::uint64_t>(nanoseconds, 1'000'000'000'000'000));
}

} // namespace

Agent::Agent(AgentOptions options, Links &links, Hooks hooks)
    : options_(std::move(options)), links_(links), hooks_(std::move(hooks)),
      member_(options_.rank, options_.founding),
      heartbeats_(options_.rank, options_.founding.members, options_.heartbeats, options_.clock()),
      left_in_order_(options_.founding.members.ranks()), lost_(options_.founding.members.ranks()),
      view_(options_.founding), table_(options_.founding.members.ranks()) {
    thread_ = named_thread("stretto-member", [this] { run(); });
}

Agent::~Agent() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    links_.wake();
    thread_.join();
}

// ---- for callers

View Agent::view() const {
    const std::lock_guard lock(mutex_);
    return view_;
}

std::optional<Reason> Agent::reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
}

std::optional<Offsets> Agent::clocks() const {
    const std::lock_guard lock(mutex_);
    return table_.latest();
}

std::optional<Reason> Agent::revoke(std::uint32_t epoch, Status status, std::string text) {
    fail(epoch, status, std::move(text));
    std::unique_lock lock(mutex_);
    answers_.wait(lock, [&] { return reason_ || view_.epoch != epoch; });
    return view_.epoch == epoch ? reason_ : std::nullopt;
}

void Agent::fail(std::uint32_t epoch, Status status, std::string text) {
    put(Event(event::Fail{epoch, status, std::move(text)}));
}

action::Shrunk Agent::shrink(std::uint64_t completed, std::uint64_t patience) {
    std::unique_lock lock(mutex_);
    if (!reason_)
        throw Error(Status::argument, "shrink was called on a communicator that has not failed");
    shrunk_.reset();
    patience_.store(patience, std::memory_order_relaxed);
    inbox_.emplace_back(std::in_place_type<Event>, event::Shrink{completed});
    links_.wake();
    constexpr std::chrono::milliseconds kPollMs{20};
    while (!answers_.wait_for(lock, kPollMs, [this] { return shrunk_ || collapsed_; })) {
        lock.unlock();
        interruption_point();
        lock.lock();
    }
    return shrunk_ ? *shrunk_ : action::Shrunk{action::Outcome::no_majority, view_};
}

std::string Agent::decide(std::uint64_t key, int coordinator, std::string value,
                          const std::function<void()> &meanwhile) {
    constexpr std::chrono::milliseconds kPollMs{2};
    std::unique_lock lock(mutex_);
    if (!view_.members.has(coordinator) || value.size() > kMostDecisionBytes)
        throw Error(Status::argument,
                    "a shared decision needs a coordinator that belongs to the communicator "
                    "and a value of at most " +
                        std::to_string(kMostDecisionBytes) + " bytes");
    const std::uint32_t epoch = view_.epoch;
    const auto over = [&] { return reason_ || view_.epoch != epoch; };
    if (!decisions_.contains(key)) {
        inbox_.emplace_back(std::in_place_type<Event>,
                            event::Decide{key, coordinator, std::move(value)});
        links_.wake();
        const auto answered = [&] { return over() || decisions_.contains(key); };
        while (meanwhile && !answers_.wait_for(lock, kPollMs, answered)) {
            lock.unlock();
            meanwhile();
            lock.lock();
        }
        answers_.wait(lock, answered);
    }
    if (over())
        throw Error(Status::revoked,
                    "a shared decision was not made before the communicator failed" +
                        (reason_ ? ": " + reason_->text : std::string(" and went on without it")));
    return decisions_.at(key);
}

void Agent::decide_at(std::uint64_t key, std::uint64_t when) {
    put(DecisionTime{key, when});
}

void Agent::come_round(std::uint64_t when) {
    put(Round{when});
}

void Agent::notify(std::uint64_t key, int coordinator, std::int64_t value) {
    put(OutgoingNotice{coordinator, Notice{key, value}});
}

void Agent::forget_decisions(std::uint64_t from, std::uint64_t below) {
    std::unique_lock lock(mutex_);
    decisions_.erase(decisions_.lower_bound(from), decisions_.lower_bound(below));
    inbox_.emplace_back(std::in_place_type<Event>, event::Forget{from, below});
    links_.wake();
}

std::vector<std::optional<WaitReport>> Agent::where(const RankSet &ranks,
                                                    std::uint64_t nanoseconds) {
    std::unique_lock lock(mutex_);
    if (ranks.ranks() != view_.members.ranks())
        throw Error(Status::argument, "these are ranks of another job");
    const std::uint64_t ticket = ++tickets_;
    auto &answers = asked_[ticket]; // a map's elements stay where they are
    answers.resize(static_cast<std::size_t>(view_.members.ranks()));
    inbox_.push_back(Question{ticket, ranks});
    links_.wake();
    const auto all_have_answered = [&] {
        for (const int rank : ranks)
            if (!answers[static_cast<std::size_t>(rank)])
                return false;
        return true;
    };
    answers_.wait_for(lock, duration(nanoseconds),
                      [&] { return collapsed_ || all_have_answered(); });
    auto result = std::move(answers);
    asked_.erase(ticket);
    return result;
}

// ---- the network

void Agent::on_bytes(int from, std::span<const std::byte> bytes) {
    items_.push_back(Bytes{from, std::vector<std::byte>(bytes.begin(), bytes.end())});
}

void Agent::on_broken(int rank, std::string_view why) {
    items_.push_back(Broken{rank, std::string(why)});
}

void Agent::on_restored(int rank) {
    items_.emplace_back(std::in_place_type<Event>, event::Restored{rank});
}

// ---- the agent's thread

void Agent::run() {
    try {
        work();
    } catch (const std::exception &error) {
        collapse(error.what());
    }
}

std::uint64_t Agent::next_deadline() const {
    std::uint64_t next = heartbeats_.next_tick();
    for (const auto &[key, when] : decision_times_)
        next = std::min(next, when);
    return rounds_.empty() ? next : std::min(next, *rounds_.begin());
}

void Agent::work() {
    for (bool over = false; !over;) {
        const std::uint64_t now = options_.clock(), next = next_deadline();
        links_.wait(*this, next > now ? next - now : 0);
        {
            const std::lock_guard lock(mutex_);
            over = stop_; // items that were put in before are handled first
            std::move(inbox_.begin(), inbox_.end(), std::back_inserter(items_));
            inbox_.clear();
        }
        for (Item &item : items_)
            std::visit([this](auto &each) { handle(each); }, item);
        items_.clear();
        make_due_decisions();
        rounds_.erase(rounds_.begin(), rounds_.upper_bound(options_.clock()));
        watch_members();
        if (hooks_.round)
            hooks_.round();
    }
    if (!member_.in_force())
        return;
    for (const int rank : member_.view().members)
        if (rank != options_.rank)
            send(rank, Bye{});
    links_.drain(member_.left() - left_in_order_);
}

// The thread ends, for instance because there is no memory.  From now on no caller waits for it.
void Agent::collapse(const char *why) {
    const std::lock_guard lock(mutex_);
    collapsed_ = true;
    if (!reason_)
        reason_ = Reason{Status::memory, options_.rank, options_.rank, ""};
    try {
        reason_->text =
            "rank " + std::to_string(options_.rank) + " has lost its control agent: " + why;
    } catch (const std::exception &) {
        reason_->text.clear(); // no memory for that either
    }
    revoked_.store(true, std::memory_order_release);
    answers_.notify_all();
}

void Agent::handle(Event &event) {
    if (auto *decision = std::get_if<event::Decide>(&event);
        decision && decision->coordinator == options_.rank &&
        !choose(decision->key, options_.rank, decision->value))
        return;
    if (const auto *forget = std::get_if<event::Forget>(&event))
        decision_times_.erase(decision_times_.lower_bound(forget->from),
                              decision_times_.lower_bound(forget->below));
    step(event);
}

// Makes the decisions whose time has come, as if this rank itself asked for them.
void Agent::make_due_decisions() {
    const std::uint64_t now = options_.clock();
    for (auto at = decision_times_.begin(); at != decision_times_.end();) {
        if (at->second > now) {
            ++at;
            continue;
        }
        const std::uint64_t key = at->first;
        at = decision_times_.erase(at);
        if (std::string value; !member_.knows_decision(key) && choose(key, kNoRank, value))
            step(event::Decide{key, options_.rank, std::move(value)});
    }
}

// Whether this coordinator has a value for the key.  If it has none yet, it drops the question, as
// if that were still on its way.  The member need not ask again: as soon as the value is decided,
// all members are sent it.
bool Agent::choose(std::uint64_t key, int from, std::string &value) {
    if (!hooks_.choose || member_.knows_decision(key))
        return true;
    Answer answer = hooks_.choose(key, from, value);
    if (!answer.value) {
        decision_times_[key] = answer.again;
        return false;
    }
    value = std::move(*answer.value);
    if (value.size() > kMostDecisionBytes)
        throw Error(Status::internal, "a decided value of " + std::to_string(value.size()) +
                                          " bytes; at most " + std::to_string(kMostDecisionBytes));
    return true;
}

void Agent::handle(Broken &item) {
    if (!left_in_order_.has(item.rank))
        suspect(item.rank, describe(item.rank, "has died") + ": " + item.why);
}

void Agent::handle(Question &item) {
    for (const int rank : item.ranks)
        if (rank == options_.rank)
            record(rank, {item.ticket, wait_report()});
        else
            send(rank, Where{item.ticket});
}

void Agent::handle(OutgoingNotice &item) {
    if (item.coordinator == options_.rank)
        notice(options_.rank, item.notice);
    else
        send(item.coordinator, item.notice);
}

void Agent::suspect(int rank, std::string why) {
    step(event::Suspect{rank, std::move(why)});
}

// "rank 3 has died (node07)".
std::string Agent::describe(int rank, const std::string &what) const {
    const std::string place = hooks_.place ? hooks_.place(rank) : "";
    return "rank " + std::to_string(rank) + " " + what + (place.empty() ? "" : " (" + place + ")");
}

void Agent::step(const Event &event) {
    for (const Action &action : member_.step(event))
        std::visit([this](const auto &each) { act(each); }, action);
    report_lost();
}

void Agent::report_lost() {
    if (!member_.in_force() || !member_.revoked())
        return;
    for (const int rank : member_.view().members)
        if (rank != options_.rank && !member_.left().has(rank) && !lost_.has(rank)) {
            lost_.insert(rank);
            if (hooks_.lost)
                hooks_.lost(rank);
        }
}

void Agent::send(int to, Body body) {
    links_.send(to, write({member_.view().epoch, std::move(body)}));
}

void Agent::act(const action::Send &action) {
    links_.send(action.to, write(action.message));
}

void Agent::act(const action::Revoked &action) {
    std::uint32_t epoch = 0;
    {
        const std::lock_guard lock(mutex_);
        reason_ = action.reason;
        epoch = view_.epoch;
        revoked_.store(true, std::memory_order_release);
    }
    answers_.notify_all();
    if (hooks_.revoked)
        hooks_.revoked(epoch, action.reason);
}

void Agent::act(const action::Shrunk &action) {
    {
        const std::lock_guard lock(mutex_);
        shrunk_ = action;
        if (action.outcome == action::Outcome::succeeded) {
            view_ = action.view;
            reason_.reset();
            decisions_.clear();
            table_.start_over(view_.epoch);
            revoked_.store(false, std::memory_order_release);
        }
    }
    filter_ = {};
    awaited_since_.clear();
    decision_times_.clear();
    answers_.notify_all();
}

void Agent::act(const action::ValueDecided &action) {
    {
        const std::lock_guard lock(mutex_);
        decisions_[action.key] = action.value;
    }
    answers_.notify_all();
    if (hooks_.decided)
        hooks_.decided(action.key, action.value);
}

} // namespace stretto::membership
