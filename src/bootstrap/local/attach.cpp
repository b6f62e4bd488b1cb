// SPDX-License-Identifier: BSD-3-Clause
// Joining a job: all ranks but the founder.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <unistd.h>
#include <utility>

#include "base/interrupted.hpp"
#include "bootstrap/cores.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/local/wire.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

// Waits until the founder listens.
Descriptor call_founder(const Identity &me, const std::string &who, const std::string &name,
                        Patience &patience) {
    sockaddr_un where;
    const socklen_t length = address(name, where);
    Descriptor socket = open_socket();
    unsigned nap = 50; // microseconds
    while (uninterrupted([&] {
               return connect(socket.get(), reinterpret_cast<sockaddr *>(&where), length);
           }) != 0) {
        const int code = errno;
        if (code != ECONNREFUSED && code != ENOENT && code != EAGAIN)
            throw_errno("cannot reach " + who + " of " + me.words());
        patience.watch();
        if (patience.ended())
            throw Error(Status::timeout,
                        "rank " + std::to_string(me.rank) + " heard nothing of " + who + " of " +
                            me.words() + " (by " + me.launcher + ") within " + patience.seconds() +
                            (code == EAGAIN ? ": its socket is there, and has no room for one more "
                                              "call; is it stopped?"
                                            : ": no process of this host listens at its socket; "
                                              "does it run, on this host, in the same network "
                                              "namespace and under the same user?") +
                            launch_hint(me));
        usleep(nap);
        nap = std::min(2 * nap, 2000u);
    }
    check_listener(socket.get(), me.words());
    return socket;
}

Error no_word(const Identity &me, const std::string &founder, bool welcome,
              const Patience &patience) {
    const std::string rank = "rank " + std::to_string(me.rank);
    if (welcome)
        return Error(Status::timeout, me.words() + " was not complete within " +
                                          patience.seconds() + "; " + founder + " has let " + rank +
                                          " in, and knows who is missing: look at its output");
    return Error(Status::timeout, rank + " has called " + founder + " of " + me.words() +
                                      ", which has not answered within " + patience.seconds() +
                                      "; is it stopped?");
}

} // namespace

std::optional<Handed> greet(int fd, std::span<const std::byte> greeting, const Identity &me,
                            const std::string &founder, Patience &patience) {
    const ssize_t sent =
        uninterrupted([&] { return send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL); });
    // Who has closed the connection already may have said why before.
    if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
        throw_errno("cannot talk to " + founder);
    for (bool welcome = false;;) {
        constexpr int kPollMs = 100;
        while (!readable(fd, kPollMs)) {
            patience.watch();
            if (patience.ended_for_word())
                throw no_word(me, founder, welcome, patience);
        }
        std::array<std::byte, kAnswerBytes> bytes;
        Packet packet = receive(fd, bytes);
        if (packet.size == 0 && !welcome)
            return std::nullopt;
        if (packet.size == 0)
            throw Error(Status::peer, founder + " has died before " + me.words() +
                                          " was complete; look at its output");
        auto answer = packet.size == bytes.size() ? parse_answer(bytes) : std::nullopt;
        if (!answer)
            throw Error(
                Status::mismatch,
                "the ranks of this job run different versions of Stretto; install one version");
        if (answer->status != Status::ok)
            throw Error(answer->status, answer->message);
        if (answer->message == kWelcome) {
            welcome = true;
            continue;
        }
        if (packet.descriptor_count != 2)
            throw Error(Status::system, "rank " + std::to_string(me.rank) +
                                            " has no descriptors left for the shared memory of "
                                            "its host; raise the limit of open files (ulimit -n)");
        return Handed{std::move(packet.descriptors[0]), std::move(packet.descriptors[1]),
                      std::move(answer->message)};
    }
}

LocalSegment join_segment(const Config &config, const Identity &me, const ParentContext *origin,
                          const std::string &name, Patience &patience) {
    const int founder_rank = founder(origin);
    const std::string who = "rank " + std::to_string(founder_rank);
    LocalSegment local{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size)),
                       founder_rank};
    Descriptor &socket = local.sockets[static_cast<std::size_t>(founder_rank)];
    try {
        const auto hello = write(Hello{me.rank, me.size, affinity()});
        std::optional<Handed> handed;
        while (!handed) {
            socket = call_founder(me, who, name, patience);
            if (origin == nullptr)
                check(config, me);
            handed = greet(socket.get(), hello, me, who, patience);
            if (!handed && patience.ended())
                throw Error(Status::timeout, who + " of " + me.words() + " has turned rank " +
                                                 std::to_string(me.rank) + " away for " +
                                                 patience.seconds());
            if (!handed)
                usleep(1000); // whoever was there has gone: not the founder, or before it was one
        }
        local.segment =
            Segment::attach(std::move(handed->segment), std::move(handed->heap),
                            origin == nullptr ? transport::Placement() : origin->placement());
    } catch (const Error &error) {
        if (socket.open())
            send_answer(socket.get(), error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        if (socket.open())
            send_answer(socket.get(), Status::memory, "no memory to join the job");
        throw;
    }
    return local;
}

} // namespace stretto::bootstrap
