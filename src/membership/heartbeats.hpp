// SPDX-License-Identifier: BSD-3-Clause
// Who watches whom, and when a rank has been silent for too long.
//
// The members that are left stand in a circle, in order of rank.  Each watches those 1, 2, 4, 8,
// ... places further on: ceil(log2 P) of them, and is watched by as many.  It pings them; whatever
// they send counts as a sign of life.  When a member goes, the circle closes, and its watchers
// watch the next.  (The overlay of Bosilca, Bouteiller, Guermouche, Herault, Robert, Sens and
// Dongarra, "Failure detection and propagation in HPC systems", SC 2016, is a plain ring.  One
// watcher that dies together with the one it watches costs a second deadline there; here all
// watchers would have to.)
//
// Time is a number that the caller passes in.
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
    struct Due {
        RankSet pings, silent;
    };

    Heartbeats(int rank, const RankSet &members, Times times, std::uint64_t now);

    // Those who are left, `rank` among them; or none, to rest.
    void set_members(const RankSet &members, std::uint64_t now);
    // Others for whom the caller waits.
    void also_watch(const RankSet &ranks, std::uint64_t now);
    const RankSet &watched() const { return watched_; }

    void heard(int rank, std::uint64_t now);
    // Whom to ping now, and who has been silent beyond the deadline; each is told once.
    Due tick(std::uint64_t now);
    std::uint64_t next_tick() const { return next_ping_; }

    // Those places further on in the circle of members, without the others.
    static RankSet successors(int rank, const RankSet &members);

private:
    struct Peer {
        std::uint64_t heard = 0;
        bool told = false;
    };
    Peer &peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    void watch(std::uint64_t now);

    int rank_;
    Times times_;
    RankSet members_, extra_, watched_;
    std::vector<Peer> peers_; // by rank; of those who are watched
    std::uint64_t last_tick_, next_ping_;
};

} // namespace stretto::membership
