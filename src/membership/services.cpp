// SPDX-License-Identifier: BSD-3-Clause
// What an agent does beside the protocol: heartbeats, clocks, notices and wait reports.
#include "membership/agent.hpp"

#include <utility>

namespace stretto::membership {

void Agent::handle(Bytes &item) {
    Parsed parsed = parse(item.bytes, member_.view().members.ranks());
    if (!parsed.message) {
        suspect(item.from, describe(item.from, "has sent an invalid message") + ": " +
                               std::string(parsed.error));
        return;
    }
    heartbeats_.received(item.from, options_.clock());
    receive(item.from, std::move(*parsed.message));
}

void Agent::receive(int from, Message message) {
    if (std::holds_alternative<Ping>(message.body)) {
        const std::uint64_t now = options_.clock();
        // If the sender is in an older epoch, this step sends it the next view.
        step(event::Received{from, {message.epoch, Beat{}}});
        send(from, Pong{std::get<Ping>(message.body).sent, now, options_.clock()});
    } else if (message.body.index() >= Body(Ping{}).index()) {
        serve(from, message);
    } else {
        if (auto *ask = std::get_if<Ask>(&message.body);
            ask && message.epoch == member_.view().epoch && !member_.revoked() &&
            !choose(ask->key, from, ask->value))
            return;
        step(event::Received{from, std::move(message)});
    }
}

void Agent::serve(int from, const Message &message) {
    const Body &body = message.body;
    if (const auto *pong = std::get_if<Pong>(&body)) {
        if (from == reference())
            filter_.add({pong->sent, pong->arrived, pong->left, options_.clock()});
    } else if (const auto *offset = std::get_if<Offset>(&body)) {
        const std::lock_guard lock(mutex_);
        if (reference() == options_.rank && message.epoch == view_.epoch)
            table_.report(from, *offset);
    } else if (const auto *offsets = std::get_if<Offsets>(&body)) {
        const std::lock_guard lock(mutex_);
        if (from == reference() && from == offsets->reference && message.epoch == view_.epoch)
            table_.hold(*offsets);
    } else if (const auto *where = std::get_if<Where>(&body)) {
        send(from, Here{where->ticket, wait_report()});
    } else if (const auto *here = std::get_if<Here>(&body)) {
        record(from, *here);
    } else if (std::holds_alternative<Bye>(body)) {
        left_in_order_.insert(from);
    } else if (const auto *notice = std::get_if<Notice>(&body)) {
        if (message.epoch == member_.view().epoch)
            this->notice(from, *notice);
    }
}

void Agent::notice(int from, const Notice &notice) {
    if (hooks_.noticed && !member_.knows_decision(notice.key))
        hooks_.noticed(from, notice.key, notice.value);
}

WaitReport Agent::wait_report() const {
    return hooks_.wait_report ? hooks_.wait_report() : WaitReport{};
}

void Agent::record(int rank, const Here &here) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto asked = asked_.find(here.ticket); asked != asked_.end())
            asked->second[static_cast<std::size_t>(rank)] = here.wait_report;
    }
    answers_.notify_all();
}

int Agent::reference() const {
    return member_.in_force() ? member_.view().members.lowest() : kNoRank;
}

// Pings members, and suspects those that are silent, have left or do not call shrink.
void Agent::watch_members() {
    const std::uint64_t now = options_.clock();
    RankSet left(member_.view().members.ranks());
    if (member_.in_force())
        left = member_.left() - left_in_order_;
    heartbeats_.set_members(left, now);
    // After a failure each member watches all others.  A member that is cut off must find out that
    // all others are silent; if it watched one after the other, it would wait one deadline for
    // each.
    heartbeats_.also_watch(member_.revoked() ? left : RankSet(left.ranks()), now);
    const Heartbeats::Due due = heartbeats_.tick(now);
    for (const int rank : due.pings)
        send(rank, Ping{now});
    for (const int rank : due.silent)
        suspect(rank,
                describe(rank, "has sent nothing for " + in_seconds(options_.heartbeats.deadline)));
    if (!member_.in_force())
        return;
    if (member_.revoked()) {
        for (const int rank : left_in_order_)
            if (!member_.suspects(rank))
                suspect(rank, describe(rank, "has left"));
        suspect_absent(now);
    } else if (!due.pings.empty()) {
        read_clocks(due.pings, now);
    }
}

// Suspects members that live but have not called shrink for `patience`.
void Agent::suspect_absent(std::uint64_t now) {
    const std::uint64_t patience = patience_.load(std::memory_order_relaxed);
    const RankSet awaited = member_.awaited();
    std::erase_if(awaited_since_, [&](const auto &each) { return !awaited.has(each.first); });
    for (const int rank : awaited) {
        const std::uint64_t since = awaited_since_.try_emplace(rank, now).first->second;
        if (patience != 0 && now - since >= patience)
            suspect(rank, describe(rank, "has not called shrink within " + in_seconds(patience)));
    }
}

void Agent::read_clocks(const RankSet &pinged, std::uint64_t now) {
    if (reference() != options_.rank) {
        if (!pinged.has(reference()))
            send(reference(), Ping{now});
        if (const auto offset = filter_.estimate(now))
            send(reference(), *offset);
        return;
    }
    std::optional<Offsets> next;
    {
        const std::lock_guard lock(mutex_);
        next = table_.publish(options_.rank, member_.view().members);
    }
    if (next)
        for (const int rank : member_.view().members)
            if (rank != options_.rank)
                send(rank, *next);
}

} // namespace stretto::membership
