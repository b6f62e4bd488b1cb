// SPDX-License-Identifier: BSD-3-Clause
#include "comm/bootstrap.hpp"

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "comm/cores.hpp"
#include "comm/packets.hpp"
#include "comm/wire.hpp"
#include "engine/failure.hpp"
#include "select/select.hpp"
#include "transport/doorbell.hpp"

namespace stretto::comm {

using transport::Segment;

namespace {

constexpr char kNoMemory[] = "no memory to join the job";

// The job's name, and which of its inits in this process this is: a job may join again.
std::string instance(const Identity &me) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, int>, int> joined;
    const std::lock_guard lock(mutex);
    return me.job + "-" + std::to_string(joined[{me.job, me.rank}]++);
}

// How long to wait, and for whom it is worth it.
class Patience {
public:
    explicit Patience(const Origin *origin)
        : origin_(origin), limit_ns_(nanoseconds(Setting::init_timeout)), start_(now_ns()) {}
    bool ended() const { return limit_ns_ != 0 && now_ns() - start_ > limit_ns_; }
    std::string seconds() const { return in_seconds(limit_ns_); }
    // Throws if somebody who is awaited will not come.  To be called as often as one likes.
    void watch() {
        constexpr std::uint64_t kEvery = 50'000'000; // ns
        if (origin_ == nullptr || now_ns() - watched_ < kEvery)
            return;
        watched_ = now_ns();
        origin_->watch();
    }

private:
    const Origin *origin_; // null: a job of its own
    std::uint64_t limit_ns_, start_, watched_ = start_;
};

// The ranks of a job while it is being joined: rank 0 has a socket to each of the others, they have
// one to it.  A socket that closes before all have joined says that its rank cannot.
struct Meeting {
    std::shared_ptr<Segment> segment;
    std::vector<Descriptor> sockets; // by rank
};

transport::SegmentShape shape_for(const Identity &me, const Origin *origin,
                                  const cpu_set_t &cores) {
    transport::SegmentShape shape;
    shape.ranks = me.size;
    shape.cores = cores_worth(cores);
    shape.heap_bytes = number(Setting::heap_bytes);
    shape.slice_bytes = number(Setting::slice_bytes);
    shape.ring_bytes = number(Setting::ring_bytes);
    if (shape.ring_bytes == 0)
        shape.ring_bytes = select::ring_bytes(me.size);
    if (origin != nullptr)
        shape.ring_bytes = std::min(shape.ring_bytes, origin->ring_bytes);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if ((shape.ring_bytes & (shape.ring_bytes - 1)) != 0 || shape.ring_bytes < page)
        throw Error(Status::argument, "STRETTO_RING_BYTES is " + std::to_string(shape.ring_bytes) +
                                          "; it takes a power of two of at least " +
                                          std::to_string(page));
    if (shape.heap_bytes % page != 0 || shape.heap_bytes == 0)
        throw Error(Status::argument,
                    "STRETTO_HEAP_BYTES takes a multiple of the page size " + std::to_string(page));
    return shape;
}

// Takes one rank in; what cannot be one is turned away without harm.
void admit(Descriptor caller, const Identity &me, std::vector<Descriptor> &peers,
           cpu_set_t &cores) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    std::array<std::byte, kHelloBytes> bytes;
    if (getsockopt(caller.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        credentials.uid != getuid() || !readable(caller.get(), 1000) ||
        receive(caller.get(), bytes).size != bytes.size())
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
               std::to_string(hello.size) + " ranks, rank 0 says " + std::to_string(me.size) +
               "; start all ranks of the job alike");
    if (hello.rank < 1 || hello.rank >= me.size ||
        peers[static_cast<std::size_t>(hello.rank)].open())
        refuse("two processes of job '" + me.job + "' say that they are rank " +
               std::to_string(hello.rank) + "; give every job a name of its own");
    CPU_OR(&cores, &cores, &hello.cores);
    peers[static_cast<std::size_t>(hello.rank)] = std::move(caller);
}

std::string missing(const std::vector<Descriptor> &peers) {
    std::string names;
    for (std::size_t rank = 1; rank < peers.size(); ++rank)
        if (!peers[rank].open())
            names += " " + std::to_string(rank);
    return names;
}

// Rank 0 waits for all others to call.
cpu_set_t gather(const Identity &me, const Origin *origin, const std::string &name,
                 std::vector<Descriptor> &peers) {
    cpu_set_t cores = affinity();
    if (me.size == 1)
        return cores;
    sockaddr_un where;
    const socklen_t length = address(name, where);
    const Descriptor listener = open_socket();
    if (bind(listener.get(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
        if (errno == EADDRINUSE)
            throw Error(Status::argument, "another process is rank 0 of job '" + me.job +
                                              "'; give every job a name of its own");
        throw_errno("cannot bind the job's socket");
    }
    if (listen(listener.get(), me.size) != 0)
        throw_errno("cannot listen on the job's socket");
    Patience patience(origin);
    for (std::string absent = missing(peers); !absent.empty(); absent = missing(peers)) {
        patience.watch();
        if (readable(listener.get(), 100))
            admit(Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)), me, peers,
                  cores);
        else if (patience.ended())
            throw Error(Status::timeout,
                        "after " + patience.seconds() + " rank(s)" + absent + " of job '" + me.job +
                            "' have not come to " +
                            (origin == nullptr
                                 ? "stretto_init on this host; all ranks must run on one host"
                                 : me.launcher + "; all of its ranks must call it"));
    }
    return cores;
}

Meeting found(const Identity &me, const Origin *origin, const std::string &name) {
    Meeting meeting{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size))};
    const auto tell_all = [&](Status status, std::string_view why,
                              std::span<const int> descriptors = {}) {
        for (const Descriptor &peer : meeting.sockets)
            if (peer.open())
                send_answer(peer.get(), status, why, descriptors);
    };
    try {
        const cpu_set_t cores = gather(me, origin, name, meeting.sockets);
        meeting.segment = Segment::create(shape_for(me, origin, cores));
        const int descriptors[] = {meeting.segment->fd(), meeting.segment->heap_fd()};
        tell_all(Status::ok, "", descriptors);
        return meeting;
    } catch (const Error &error) {
        tell_all(error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        tell_all(Status::memory, "rank 0 has no memory to found the job");
        throw;
    }
}

Descriptor call_founder(const Identity &me, const std::string &name, Patience &patience) {
    sockaddr_un where;
    const socklen_t length = address(name, where);
    Descriptor socket = open_socket();
    unsigned nap = 50; // microseconds
    while (connect(socket.get(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
        if (errno != ECONNREFUSED && errno != ENOENT && errno != EAGAIN && errno != EINTR)
            throw_errno("cannot reach rank 0 of job '" + me.job + "'");
        patience.watch();
        if (patience.ended())
            throw Error(Status::timeout, "rank 0 of job '" + me.job + "' (by " + me.launcher +
                                             ") was not on this host within " + patience.seconds() +
                                             "; is it running, on this host, under the same user?");
        usleep(nap);
        nap = std::min(2 * nap, 2000u);
    }
    const auto hello = write(Hello{me.rank, me.size, affinity()});
    if (send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(hello.size()))
        throw_errno("cannot talk to rank 0");
    return socket;
}

std::shared_ptr<Segment> receive_segment(int fd, const std::string &job) {
    std::array<std::byte, kAnswerBytes> bytes;
    Packet packet = receive(fd, bytes);
    if (packet.size == 0)
        throw Error(Status::peer,
                    "rank 0 has died before job '" + job + "' was complete; look at its output");
    const auto answer = packet.size == bytes.size() ? parse_answer(bytes) : std::nullopt;
    if (!answer)
        throw Error(Status::mismatch,
                    "the ranks of this job run different versions of Stretto; install one version");
    if (answer->status != Status::ok)
        throw Error(answer->status, answer->message);
    if (packet.descriptors.size() != 2)
        throw Error(Status::system,
                    "rank 0 sent no descriptors; is the limit of open files reached?");
    return Segment::attach(std::move(packet.descriptors[0]), std::move(packet.descriptors[1]));
}

Meeting follow(const Identity &me, const Origin *origin, const std::string &name) {
    Meeting meeting{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size))};
    Patience patience(origin);
    meeting.sockets[0] = call_founder(me, name, patience);
    const int founder = meeting.sockets[0].get();
    try {
        while (!readable(founder, 100)) {
            patience.watch();
            if (patience.ended())
                throw Error(Status::timeout, "job '" + me.job + "' was not complete within " +
                                                 patience.seconds() +
                                                 "; rank 0 names who is missing");
        }
        meeting.segment = receive_segment(founder, me.job);
    } catch (const Error &error) {
        send_answer(founder, error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        send_answer(founder, Status::memory, kNoMemory);
        throw;
    }
    return meeting;
}

bool joined(const Segment &segment, int rank) {
    return segment.lines(rank).joined.load(std::memory_order_seq_cst) != 0;
}

// `rank`, which has not joined, has sent something or closed its socket.
void hear(Segment &segment, int rank, int fd) {
    std::array<std::byte, kAnswerBytes> bytes;
    const std::size_t size = receive(fd, bytes).size;
    if (joined(segment, rank))
        return; // and has gone on; rank 0 leaves the meeting when all have joined
    const auto answer = size == bytes.size() ? parse_answer(bytes) : std::nullopt;
    const std::string who = "rank " + std::to_string(rank);
    if (answer)
        segment.fail(answer->status, who + " could not join the job: " + answer->message);
    else
        segment.fail(Status::peer, who + " died while the job was starting");
}

// Rank 0: whoever has not joined is heard.  The others: rank 0 stays until all have joined, so if
// it is gone and somebody is missing, it has died.
void listen_to_all(const Identity &me, const Meeting &meeting, int awaited) {
    Segment &segment = *meeting.segment;
    for (int rank = 0; rank < me.size; ++rank) {
        const Descriptor &socket = meeting.sockets[static_cast<std::size_t>(rank)];
        const int missing_rank = me.rank == 0 ? rank : awaited;
        if (!socket.open() || joined(segment, missing_rank) || !readable(socket.get(), 0))
            continue;
        if (me.rank == 0)
            hear(segment, rank, socket.get());
        else if (!joined(segment, awaited))
            segment.fail(Status::peer, "rank 0 died while the job was starting");
    }
}

// Returns when all have joined.
void complete(const Identity &me, const Origin *origin, const Meeting &meeting) {
    Segment &segment = *meeting.segment;
    Patience patience(origin);
    for (int rank = 0; rank < me.size; ++rank)
        while (!joined(segment, rank)) {
            if (segment.failed())
                throw segment.failure();
            listen_to_all(me, meeting, rank);
            if (patience.ended())
                segment.fail(Status::timeout, "rank " + std::to_string(rank) +
                                                  " did not join the job within " +
                                                  patience.seconds());
            try {
                patience.watch();
            } catch (const Error &error) {
                if (!joined(segment, rank)) // else who is gone may have been through with this
                    segment.fail(error.status(), error.what());
            }
            usleep(50);
        }
}

} // namespace

std::shared_ptr<Segment> join(const Identity &me, const Origin *origin) {
    const std::string name = origin != nullptr ? origin->place : instance(me);
    const Error exhausted = engine::no_memory(me.rank);
    const Meeting meeting = me.rank == 0 ? found(me, origin, name) : follow(me, origin, name);
    Segment &segment = *meeting.segment;
    try {
        segment.hold_life(me.rank);
        if (!transport::register_for_barrier())
            segment.header().signals.fences.store(1, std::memory_order_seq_cst);
        segment.lines(me.rank).joined.store(1, std::memory_order_seq_cst);
        complete(me, origin, meeting);
        return meeting.segment;
    } catch (...) {
        segment.leave(me.rank);
        throw engine::post_exception(segment, me.rank, exhausted);
    }
}

} // namespace stretto::comm
