// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/local/local_segment.hpp"

#include <unistd.h>
#include <utility>

#include "net/sockets.hpp"

namespace stretto::bootstrap {

std::string LocalMeeting::leader_name() const {
    return hosts == nullptr ? "rank " + std::to_string(leader())
                            : "the rank that speaks for " + net::host_name();
}

RankRecord own_record(const LocalMeeting &meeting) {
    check(meeting.config, meeting.me);
    RankRecord record;
    record.rank = meeting.me.rank;
    record.size = meeting.me.size;
    record.cores = affinity();
    if (meeting.hosts != nullptr)
        meeting.hosts->describe(record);
    return record;
}

LocalSegment meet(const LocalMeeting &meeting) {
    for (;;) {
        Role role = elect(meeting);
        if (!role.leader.open())
            return lead(meeting, std::move(role.listener));
        if (auto local = join_leader(meeting, std::move(role.leader)))
            return std::move(*local);
        if (meeting.patience.ended())
            throw Error(Status::timeout, meeting.leader_name() + " of " + meeting.me.words() +
                                             " has turned rank " + std::to_string(meeting.me.rank) +
                                             " away for " + meeting.patience.seconds());
        usleep(1000); // the process that listened was not the leader yet, or has gone
    }
}

} // namespace stretto::bootstrap
