// SPDX-License-Identifier: BSD-3-Clause
// Which rank of a host leads.
#include <algorithm>
#include <cerrno>
#include <unistd.h>
#include <utility>

#include "base/interrupted.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/phrases.hpp"

namespace stretto::bootstrap {

namespace {

struct SocketName {
    explicit SocketName(const std::string &name) : length(address(name, where)) {}
    const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&where); }
    sockaddr_un where{};
    socklen_t length;
};

// Not open: another process has the name.
Descriptor try_to_lead(const LocalMeeting &meeting, const SocketName &name) {
    Descriptor listener = open_socket();
    if (bind(listener.get(), name.get(), name.length) != 0) {
        if (errno == EADDRINUSE)
            return Descriptor();
        throw_errno("cannot bind the socket of this host's ranks");
    }
    if (listen(listener.get(), meeting.me.size) != 0)
        throw_errno("cannot listen on the socket of this host's ranks");
    return listener;
}

// Returns 0, or an errno if no process listens, or if it has no room for one more call.
int try_to_call(const LocalMeeting &meeting, const SocketName &name, int socket) {
    if (uninterrupted([&] { return connect(socket, name.get(), name.length); }) == 0) {
        check_listener(socket, meeting.me.words());
        return 0;
    }
    if (errno != ECONNREFUSED && errno != ENOENT && errno != EAGAIN)
        throw_errno("cannot reach " + meeting.leader_name() + " of " + meeting.me.words());
    return errno;
}

Error no_leader(const LocalMeeting &meeting, bool bound) {
    const Identity &me = meeting.me;
    return Error(Status::timeout,
                 "rank " + std::to_string(me.rank) + " heard nothing of " + meeting.leader_name() +
                     " of " + me.words() + " (by " + me.launcher + ") within " +
                     meeting.patience.seconds() +
                     (bound ? ": its socket is there, and takes no more calls; is it stopped?"
                            : ": no process of this host listens at its socket; does it run, on "
                              "this host, in the same network namespace and under the same user?") +
                     launch_hint(me));
}

} // namespace

Role elect(const LocalMeeting &meeting) {
    const int leader = meeting.leader(), rank = meeting.me.rank;
    const bool may_lead = leader == rank || leader == LocalMeeting::kAnyRank;
    if (meeting.me.size == 1)
        return Role();
    const SocketName name(meeting.name);
    Descriptor socket;
    for (unsigned nap = 50;; nap = std::min(2 * nap, 2000u)) { // microseconds
        if (may_lead)
            if (Descriptor listener = try_to_lead(meeting, name); listener.open())
                return {Descriptor(), std::move(listener)};
        if (!socket.open())
            socket = open_socket();
        const int code = try_to_call(meeting, name, socket.get());
        if (leader == rank)
            throw Error(Status::argument, "another process is rank " + std::to_string(rank) +
                                              " of " + meeting.me.words() +
                                              "; give every job a name of its own");
        if (code == 0)
            return {std::move(socket), Descriptor()};
        meeting.patience.watch();
        if (meeting.patience.ended())
            throw no_leader(meeting, may_lead || code == EAGAIN);
        usleep(nap);
    }
}

} // namespace stretto::bootstrap
