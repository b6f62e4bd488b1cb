// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one host come to share memory when a job starts.
//
//   1. One rank is elected leader of the host, the other ranks are its members (election.cpp).
//   2. Each member greets the leader with its record, and the leader admits it (member.cpp,
//      leader.cpp).
//   3. When all ranks have come, the leader creates the segment and hands out its descriptor.
//
// If the leader fails, it tells all ranks that have called or call within a moment.  If a member
// fails, it tells the leader, which then fails.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "bootstrap/join.hpp"
#include "bootstrap/local/wire.hpp"
#include "bootstrap/patience.hpp"

namespace stretto::bootstrap {

// The leader has a socket to each member, and each member has one to the leader.  If a rank closes
// its socket before all ranks have joined, it cannot join.
struct LocalSegment {
    std::shared_ptr<transport::Segment> segment;
    std::vector<Descriptor> sockets; // by rank
    int leader = 0;
};

// What a job on several hosts adds to the steps above.
class OtherHosts {
public:
    virtual ~OtherHosts() = default;

    // Any rank: adds to its record how other hosts reach it.
    virtual void describe(RankRecord &mine) = 0;
    // A member: reads what the leader's table() says.
    virtual transport::Placement read(int table) = 0;

    // The leader, first of all.
    virtual void lead() = 0;
    // The leader: names a rank of this host, itself among them.
    virtual void name(const RankRecord &rank) = 0;
    // The leader, again and again: makes progress.  Returns whether all ranks of the job are known.
    virtual bool all_named() = 0;
    // The leader, when all ranks are known.
    virtual transport::SegmentShape shape() = 0;
    virtual Descriptor table() = 0; // where all ranks are: a file that members get
};

// What a rank knows before it meets the other ranks of its host.
struct LocalMeeting {
    const Config &config;
    const Identity &me;
    std::string name; // of the leader's socket
    Patience &patience;
    // Null: all ranks are on this host, and rank 0 leads.  Otherwise the first rank that comes
    // leads.
    OtherHosts *hosts = nullptr;

    static constexpr int kAnyRank = -1;
    int leader() const { return hosts == nullptr ? 0 : kAnyRank; }
    // For errors.
    std::string leader_name() const;
};

// Every rank of the host calls this; it returns when the rank has the segment.
LocalSegment meet(const LocalMeeting &meeting);

// This rank's record.  Throws Error if a setting of this process makes no sense.
RankRecord own_record(const LocalMeeting &meeting);

// election.cpp: the part of this rank.
struct Role {
    Descriptor leader;   // a member's connection to the leader; not open: this rank leads
    Descriptor listener; // a leader's, which members call; not open: it expects none
};
// The rank that binds the name of the socket leads.  If the lowest rank is to lead, only that rank
// tries to; otherwise all ranks do.  Throws Error(timeout) if this rank finds no leader until
// patience ends, and Error if a process that is none of the job's has the name.
Role elect(const LocalMeeting &meeting);

// leader.cpp: this rank leads, and members call it at `listener`.
LocalSegment lead(const LocalMeeting &meeting, Descriptor listener);

// member.cpp: this rank greets the leader over `socket`.  Nothing, if the other side closes the
// connection before it admits this rank: the rank is to begin again.
std::optional<LocalSegment> join_leader(const LocalMeeting &meeting, Descriptor socket);

// leader.cpp: why `rank`, which has said something over its socket in place of joining, or closed
// it, cannot join.
Error refusal_of(int rank, int fd);

} // namespace stretto::bootstrap
