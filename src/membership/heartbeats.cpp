// SPDX-License-Identifier: BSD-3-Clause
#include "membership/heartbeats.hpp"

#include <algorithm>

namespace stretto::membership {

RankSet Heartbeats::successors(int rank, const RankSet &members) {
    RankSet result(members.ranks());
    if (!members.has(rank))
        return result;
    const int count = members.count();
    int next = rank, passed = 0;
    for (int distance = 1; distance < count; distance *= 2) {
        for (; passed < distance; ++passed) {
            next = members.next(next);
            if (next < 0)
                next = members.lowest();
        }
        result.insert(next);
    }
    return result;
}

Heartbeats::Heartbeats(int rank, const RankSet &members, Times times, std::uint64_t now)
    : rank_(rank), times_(times), members_(members), extra_(members.ranks()),
      watched_(members.ranks()), peers_(static_cast<std::size_t>(members.ranks())), last_tick_(now),
      next_ping_(now) {
    watch(now);
}

void Heartbeats::set_members(const RankSet &members, std::uint64_t now) {
    if (members_ == members)
        return;
    members_ = members;
    watch(now);
}

void Heartbeats::also_watch(const RankSet &ranks, std::uint64_t now) {
    if (extra_ == ranks)
        return;
    extra_ = ranks;
    watch(now);
}

void Heartbeats::watch(std::uint64_t now) {
    RankSet watched = successors(rank_, members_);
    for (const int rank : extra_)
        if (members_.has(rank) && rank != rank_)
            watched.insert(rank);
    // A rank that is watched from now on was not pinged before: its silence begins now.
    for (const int rank : watched)
        if (!watched_.has(rank))
            peer(rank) = {now, false};
    if (!watched.within(watched_))
        next_ping_ = std::min(next_ping_, now);
    watched_ = watched;
}

void Heartbeats::received(int rank, std::uint64_t now) {
    if (watched_.has(rank))
        peer(rank).last_sign = std::max(peer(rank).last_sign, now);
}

Heartbeats::Due Heartbeats::tick(std::uint64_t now) {
    Due due{RankSet(members_.ranks()), RankSet(members_.ranks())};
    // If this rank itself was stopped, the silence of that time says nothing about others.
    if (const std::uint64_t pause = now - last_tick_; pause > 2 * times_.interval)
        for (const int rank : watched_)
            peer(rank).last_sign = std::min(peer(rank).last_sign + pause, now);
    last_tick_ = now;
    for (const int rank : watched_)
        if (!peer(rank).reported && now - peer(rank).last_sign >= times_.deadline) {
            peer(rank).reported = true;
            due.silent.insert(rank);
        }
    if (now >= next_ping_) {
        due.pings = watched_;
        next_ping_ = now + times_.interval;
    }
    return due;
}

} // namespace stretto::membership
