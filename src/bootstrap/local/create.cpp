// SPDX-License-Identifier: BSD-3-Clause
// Joining a job: the founder, who is rank 0 or the lowest rank of its host.
#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <span>
#include <utility>

#include "base/interrupted.hpp"
#include "bootstrap/cores.hpp"
#include "bootstrap/local/callers.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/local/wire.hpp"
#include "bootstrap/shape.hpp"
#include "net/sockets.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

// Whether a rank is to call the founder.
bool is_follower(int rank, const Identity &me, const ParentContext *origin) {
    return rank != me.rank && (origin == nullptr || origin->placement().here(rank));
}

// One rank's call.  What cannot be one is turned away without harm.
void admit(Descriptor caller, std::span<const std::byte> bytes, const Identity &me,
           const ParentContext *origin, std::vector<Descriptor> &peers,
           std::vector<CoreSet> &cores) {
    throw_refusal(bytes);
    const auto greeting = parse_hello(bytes);
    if (!greeting)
        return;
    const Hello &hello = *greeting;
    const auto refuse = [&](const std::string &why) {
        send_answer(caller.get(), Status::mismatch, why);
        throw Error(Status::mismatch, why);
    };
    if (hello.size != me.size)
        refuse("rank " + std::to_string(hello.rank) + " says that " + me.words() + " has " +
               std::to_string(hello.size) + " ranks, rank " + std::to_string(me.rank) + " says " +
               std::to_string(me.size) + "; start all ranks of the job alike");
    if (hello.rank < 0 || hello.rank >= me.size || !is_follower(hello.rank, me, origin) ||
        peers[static_cast<std::size_t>(hello.rank)].open())
        refuse("two processes of " + me.words() + " say that they are rank " +
               std::to_string(hello.rank) + "; give every job a name of its own");
    cores[static_cast<std::size_t>(hello.rank)] = hello.cores;
    send_answer(caller.get(), Status::ok, kWelcome);
    peers[static_cast<std::size_t>(hello.rank)] = std::move(caller);
}

std::vector<int> missing(const Identity &me, const ParentContext *origin,
                         const std::vector<Descriptor> &peers) {
    std::vector<int> absent;
    for (int rank = 0; rank < me.size; ++rank)
        if (is_follower(rank, me, origin) && !peers[static_cast<std::size_t>(rank)].open())
            absent.push_back(rank);
    return absent;
}

Error too_late(const Identity &me, const ParentContext *origin, const std::vector<int> &absent,
               std::size_t silent, const Patience &patience) {
    const std::string stuck =
        silent == 0 ? ""
                    : "; " + std::to_string(silent) +
                          " process(es) have called and not said which rank they are: are they "
                          "stopped?";
    return Error(Status::timeout,
                 "after " + patience.seconds() + " nothing was heard of rank(s)" + listed(absent) +
                     " of " + me.words() +
                     (origin == nullptr
                          ? " on this host; see whether they run, on this host and under this "
                            "user, and come to stretto_init" +
                                launch_hint(me)
                          : "; all of its ranks must call " + me.launcher) +
                     stuck);
}

Descriptor listen_for_others(const Identity &me, const std::string &name) {
    sockaddr_un where;
    const socklen_t length = address(name, where);
    Descriptor listener = open_socket();
    if (bind(listener.get(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
        if (errno == EADDRINUSE) {
            const Descriptor other = open_socket();
            if (connect(other.get(), reinterpret_cast<sockaddr *>(&where), length) == 0)
                check_listener(other.get(), me.words());
            throw Error(Status::argument, "another process is rank " + std::to_string(me.rank) +
                                              " of " + me.words() +
                                              "; give every job a name of its own");
        }
        throw_errno("cannot bind the job's socket");
    }
    if (listen(listener.get(), me.size) != 0)
        throw_errno("cannot listen on the job's socket");
    return listener;
}

// Waits for all others to call, and notes the cores of each.
void gather(const Identity &me, const ParentContext *origin, Callers &callers,
            std::vector<Descriptor> &peers, std::vector<CoreSet> &cores, Patience &patience) {
    const auto take = [&](Descriptor caller, std::span<const std::byte> greeting) {
        admit(std::move(caller), greeting, me, origin, peers, cores);
    };
    for (;;) {
        const std::vector<int> absent = missing(me, origin, peers);
        if (absent.empty())
            return;
        patience.watch();
        if (patience.ended())
            throw too_late(me, origin, absent, callers.silent(), patience);
        constexpr int kPollMs = 100;
        callers.hear(kPollMs, take);
        if (const int rank = heard_from(peers); rank >= 0)
            throw refusal_of(rank, peers[static_cast<std::size_t>(rank)].get());
    }
}

// Writes into the segment which ranks share a cache.  If ranks are on several hosts, each founder
// knows only those of its own host, and writes nothing.
void note_caches(Segment &segment, std::span<const CoreSet> cores, const CoreSet &all) {
    if (!segment.placement().one_host() || cores.size() == 1)
        return;
    const std::vector<std::int32_t> caches = caches_of(cores, Caches::read(all.processors()));
    for (std::size_t rank = 0; rank < caches.size(); ++rank)
        segment.lines(static_cast<int>(rank))
            .cache.store(1 + caches[rank], std::memory_order_relaxed);
}

} // namespace

int heard_from(const std::vector<Descriptor> &peers) {
    std::vector<pollfd> entries;
    for (const Descriptor &peer : peers)
        entries.push_back({peer.open() ? peer.get() : -1, POLLIN, 0});
    if (poll_for(entries, 0) <= 0)
        return -1;
    const auto news = std::find_if(entries.begin(), entries.end(),
                                   [](const pollfd &each) { return each.revents != 0; });
    return static_cast<int>(news - entries.begin());
}

void throw_refusal(std::span<const std::byte> greeting) {
    if (const auto answer = parse_answer(greeting); answer && answer->status != Status::ok)
        throw Error(answer->status, "a rank on " + net::host_name() +
                                        " could not join the job: " + answer->message);
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

std::string launch_hint(const Identity &me) {
    return me.by_process ? "; if different shells or scripts start the ranks of this job, set "
                           "STRETTO_JOB to the same name for all of them"
                         : "";
}

std::string listed(const std::vector<int> &ranks) {
    constexpr std::size_t kMostRanks = 32;
    std::string names;
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i)
        names += " " + std::to_string(ranks[i]);
    return ranks.size() > kMostRanks ? names + " ... (" + std::to_string(ranks.size()) + " in all)"
                                     : names;
}

LocalSegment create_segment(const Config &config, const Identity &me, const ParentContext *origin,
                            const std::string &name, Patience &patience) {
    LocalSegment local{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size)),
                       me.rank};
    Descriptor listener;
    Callers callers(listener, me.rank, std::max(kHelloBytes, kAnswerBytes));
    bool own = false; // the failure is of this process's environment
    // Answers the ranks that have called and those that call now.  If this process lacks a
    // descriptor, it expects all ranks to call: each rank that has its answer makes room for the
    // next one.
    const auto refuse_all = [&](Status status, std::string_view why) {
        int absent = 0; // counted without memory, of which there may be none
        for (int rank = 0; rank < me.size; ++rank)
            if (is_follower(rank, me, origin) &&
                !local.sockets[static_cast<std::size_t>(rank)].open())
                ++absent;
        for (Descriptor &peer : local.sockets) {
            if (peer.open())
                send_answer(peer.get(), status, why);
            peer = Descriptor();
        }
        // Ranks that call a little later are told the failure as well; longer if it is this
        // process's own, which may fail before any rank has called.
        const int milliseconds = status == Status::timeout ? 0
                                 : own || status == Status::system
                                     ? static_cast<int>(kStaysNs / 1'000'000)
                                     : 500;
        if (listener.open())
            callers.answer(status, why, milliseconds, absent);
    };
    try {
        std::vector<CoreSet> cores(static_cast<std::size_t>(me.size));
        cores[static_cast<std::size_t>(me.rank)] = affinity();
        if (!missing(me, origin, local.sockets).empty()) {
            listener = listen_for_others(me, name);
            own = true;
            if (origin == nullptr)
                check(config, me);
            own = false;
            gather(me, origin, callers, local.sockets, cores, patience);
            listener = Descriptor(); // who calls from now on is of another job of this name
        }
        CoreSet all;
        for (const CoreSet &each : cores)
            all.add(each);
        local.segment = Segment::create(origin != nullptr && !origin->placement().one_host()
                                            ? origin->shape
                                            : shape_for(config, me.size, cores_worth(all), origin));
        note_caches(*local.segment, cores, all);
        const int descriptors[] = {local.segment->fd(), local.segment->heap_fd()};
        for (const Descriptor &peer : local.sockets)
            if (peer.open())
                send_answer(peer.get(), Status::ok, "", descriptors);
        return local;
    } catch (const Error &error) {
        refuse_all(error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        refuse_all(Status::memory, "the founder has no memory to found the job");
        throw;
    }
}

} // namespace stretto::bootstrap
