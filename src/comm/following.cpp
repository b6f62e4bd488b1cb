// SPDX-License-Identifier: BSD-3-Clause
// Joining a job: all ranks but the founder.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "comm/cores.hpp"
#include "comm/meeting.hpp"
#include "comm/packets.hpp"
#include "comm/wire.hpp"

namespace stretto::comm {

using transport::Segment;

namespace {

Descriptor call_founder(const Identity &me, const std::string &who, const std::string &name,
                        Patience &patience) {
    sockaddr_un where;
    const socklen_t length = address(name, where);
    Descriptor socket = open_socket();
    unsigned nap = 50; // microseconds
    while (connect(socket.get(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
        if (errno != ECONNREFUSED && errno != ENOENT && errno != EAGAIN && errno != EINTR)
            throw_errno("cannot reach " + who + " of job '" + me.job + "'");
        patience.watch();
        if (patience.ended())
            throw Error(Status::timeout, who + " of job '" + me.job + "' (by " + me.launcher +
                                             ") was not on this host within " + patience.seconds() +
                                             "; is it running, on this host, under the same user?");
        usleep(nap);
        nap = std::min(2 * nap, 2000u);
    }
    const auto hello = write(Hello{me.rank, me.size, affinity()});
    if (send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(hello.size()))
        throw_errno("cannot talk to " + who);
    return socket;
}

} // namespace

Handed receive_handed(int fd, const std::string &job, const std::string &founder) {
    std::array<std::byte, kAnswerBytes> bytes;
    Packet packet = receive(fd, bytes);
    if (packet.size == 0)
        throw Error(Status::peer, founder + " has died before job '" + job +
                                      "' was complete; look at its output");
    const auto answer = packet.size == bytes.size() ? parse_answer(bytes) : std::nullopt;
    if (!answer)
        throw Error(Status::mismatch,
                    "the ranks of this job run different versions of Stretto; install one version");
    if (answer->status != Status::ok)
        throw Error(answer->status, answer->message);
    if (packet.descriptor_count != 2)
        throw Error(Status::system,
                    founder + " sent no descriptors; is the limit of open files reached?");
    return {std::move(packet.descriptors[0]), std::move(packet.descriptors[1]), answer->message};
}

Meeting follow(const Identity &me, const Origin *origin, const std::string &name) {
    const int founding_rank = founder(origin);
    const std::string who = "rank " + std::to_string(founding_rank);
    Meeting meeting{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size)),
                    founding_rank};
    Patience patience(origin);
    Descriptor &socket = meeting.sockets[static_cast<std::size_t>(founding_rank)];
    socket = call_founder(me, who, name, patience);
    try {
        while (!readable(socket.get(), 100)) {
            patience.watch();
            if (patience.ended())
                throw Error(Status::timeout, "job '" + me.job + "' was not complete within " +
                                                 patience.seconds() + "; " + who +
                                                 " names who is missing");
        }
        Handed handed = receive_handed(socket.get(), me.job, who);
        meeting.segment =
            Segment::attach(std::move(handed.segment), std::move(handed.heap),
                            origin == nullptr ? transport::Placement() : origin->placement());
    } catch (const Error &error) {
        send_answer(socket.get(), error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        send_answer(socket.get(), Status::memory, "no memory to join the job");
        throw;
    }
    return meeting;
}

} // namespace stretto::comm
