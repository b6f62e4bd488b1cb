// SPDX-License-Identifier: BSD-3-Clause
// Joining a job: the founder, who is rank 0 or the lowest rank of its host.
#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "comm/cores.hpp"
#include "comm/meeting.hpp"
#include "comm/packets.hpp"
#include "comm/shape.hpp"
#include "comm/wire.hpp"
#include "net/sockets.hpp"

namespace stretto::comm {

using transport::Segment;

namespace {

// Whether a rank is to call the founder.
bool is_follower(int rank, const Identity &me, const Origin *origin) {
    return rank != me.rank && (origin == nullptr || origin->placement().here(rank));
}

// Takes one rank in; what cannot be one is turned away without harm.
void admit(Descriptor caller, const Identity &me, const Origin *origin,
           std::vector<Descriptor> &peers, cpu_set_t &cores) {
    std::array<std::byte, kHelloBytes> bytes;
    if (receive_greeting(caller.get(), bytes).size != bytes.size())
        return;
    const auto greeting = parse_hello(bytes);
    if (!greeting)
        return;
    const Hello &hello = *greeting;
    const auto refuse = [&](const std::string &why) {
        send_answer(caller.get(), Status::mismatch, why);
        throw Error(Status::mismatch, why);
    };
    if (hello.size != me.size)
        refuse("rank " + std::to_string(hello.rank) + " says that job '" + me.job + "' has " +
               std::to_string(hello.size) + " ranks, rank " + std::to_string(me.rank) + " says " +
               std::to_string(me.size) + "; start all ranks of the job alike");
    if (hello.rank < 0 || hello.rank >= me.size || !is_follower(hello.rank, me, origin) ||
        peers[static_cast<std::size_t>(hello.rank)].open())
        refuse("two processes of job '" + me.job + "' say that they are rank " +
               std::to_string(hello.rank) + "; give every job a name of its own");
    CPU_OR(&cores, &cores, &hello.cores);
    peers[static_cast<std::size_t>(hello.rank)] = std::move(caller);
}

std::string missing(const Identity &me, const Origin *origin,
                    const std::vector<Descriptor> &peers) {
    std::string names;
    for (int rank = 0; rank < me.size; ++rank)
        if (is_follower(rank, me, origin) && !peers[static_cast<std::size_t>(rank)].open())
            names += " " + std::to_string(rank);
    return names;
}

// Waits for all others to call.
cpu_set_t gather(const Identity &me, const Origin *origin, const std::string &name,
                 Descriptor &listener, std::vector<Descriptor> &peers) {
    cpu_set_t cores = affinity();
    if (missing(me, origin, peers).empty()) // there are none
        return cores;
    sockaddr_un where;
    const socklen_t length = address(name, where);
    listener = open_socket();
    if (bind(listener.get(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
        if (errno == EADDRINUSE)
            throw Error(Status::argument, "another process is rank " + std::to_string(me.rank) +
                                              " of job '" + me.job +
                                              "'; give every job a name of its own");
        throw_errno("cannot bind the job's socket");
    }
    if (listen(listener.get(), me.size) != 0)
        throw_errno("cannot listen on the job's socket");
    Patience patience(origin);
    for (;;) {
        const std::string absent = missing(me, origin, peers);
        if (absent.empty())
            return cores;
        patience.watch();
        if (readable(listener.get(), 100))
            admit(Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)), me, origin,
                  peers, cores);
        else if (patience.ended())
            throw Error(Status::timeout,
                        "after " + patience.seconds() + " rank(s)" + absent + " of job '" + me.job +
                            "' have not come to " +
                            (origin == nullptr
                                 ? "stretto_init on this host; all ranks must run on one host"
                                 : me.launcher + "; all of its ranks must call it"));
    }
}

} // namespace

void answer_callers(int listener, Status status, std::string_view message) noexcept {
    while (readable(listener, 0)) {
        const Descriptor caller(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (!caller.open())
            return;
        send_answer(caller.get(), status, message);
    }
}

std::string rank_here(int rank) {
    return "rank " + std::to_string(rank) + " on " + net::host_name();
}

Error refusal_of(int rank, int fd) {
    std::array<std::byte, kAnswerBytes> bytes;
    const std::size_t size = receive(fd, bytes).size;
    const auto answer = size == bytes.size() ? parse_answer(bytes) : std::nullopt;
    const std::string who = rank_here(rank);
    return answer ? Error(answer->status, who + " could not join the job: " + answer->message)
                  : Error(Status::peer, who + " died while the job was starting");
}

Meeting found(const Identity &me, const Origin *origin, const std::string &name) {
    Meeting meeting{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size)), me.rank};
    Descriptor listener;
    const auto tell_all = [&](Status status, std::string_view why,
                              std::span<const int> descriptors = {}) {
        for (const Descriptor &peer : meeting.sockets)
            if (peer.open())
                send_answer(peer.get(), status, why, descriptors);
    };
    const auto refuse_all = [&](Status status, std::string_view why) {
        tell_all(status, why);
        if (listener.open())
            answer_callers(listener.get(), status, why);
    };
    try {
        const cpu_set_t cores = gather(me, origin, name, listener, meeting.sockets);
        listener = Descriptor(); // who calls from now on is of another job of this name
        meeting.segment = Segment::create(origin != nullptr && !origin->placement().one_host()
                                              ? origin->shape
                                              : shape_for(me.size, cores_worth(cores), origin));
        const int descriptors[] = {meeting.segment->fd(), meeting.segment->heap_fd()};
        tell_all(Status::ok, "", descriptors);
        return meeting;
    } catch (const Error &error) {
        refuse_all(error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        refuse_all(Status::memory, "the founder has no memory to found the job");
        throw;
    }
}

} // namespace stretto::comm
