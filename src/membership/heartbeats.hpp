// SPDX-License-Identifier: BSD-3-Clause
// Which ranks a rank watches, and when a rank has been silent for too long.
//
// The members that are left form a ring, in order of rank.  Each member watches the members 1, 2,
// 4, 8, ... positions further on: ceil(log2 P) members, and as many watch it.  It pings them; any
// message from them counts as a sign of life.  When a member goes, the ring closes, and its
// watchers watch the next member.  (The overlay of Bosilca, Bouteiller, Guermouche, Herault,
// Robert, Sens and Dongarra, "Failure detection and propagation in HPC systems", SC 2016, is a ring
// with one watcher for each member.  If a watcher dies together with the member that it watches,
// detection takes two deadlines there; here only if all watchers of a member die together with it.)
//
// There is no clock here: the caller passes the time.
#pragma once

#include <cstdint>
#include <vector>

#include "membership/rank_set.hpp"

namespace stretto::membership {

class Heartbeats {
public:
    // In nanoseconds.
    struct Times {
        std::uint64_t interval = 500'000'000;    // between two pings
        std::uint64_t deadline = 10'000'000'000; // of silence; at least four intervals
    };
    // Ranks to ping now, and ranks that have been silent for the deadline.
    struct Due {
        RankSet pings, silent;
    };

    Heartbeats(int rank, const RankSet &members, Times times, std::uint64_t now);

    // The members that are left, this rank among them; an empty set stops the heartbeats.
    void set_members(const RankSet &members, std::uint64_t now);
    // Watches these ranks as well.
    void also_watch(const RankSet &ranks, std::uint64_t now);
    const RankSet &watched() const { return watched_; }

    // A message from `rank` has arrived.
    void received(int rank, std::uint64_t now);
    // Gives each silent rank once.
    Due tick(std::uint64_t now);
    std::uint64_t next_tick() const { return next_ping_; }

    // The members 1, 2, 4, 8, ... positions after `rank` in the ring of members.
    static RankSet successors(int rank, const RankSet &members);

private:
    struct Peer {
        std::uint64_t last_sign = 0; // when the last message arrived
        bool reported = false;       // as silent
    };
    Peer &peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    void watch(std::uint64_t now);

    int rank_;
    Times times_;
    RankSet members_, extra_, watched_;
    std::vector<Peer> peers_; // by rank; in use for watched ranks
    std::uint64_t last_tick_, next_ping_;
};

} // namespace stretto::membership
