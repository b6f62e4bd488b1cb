// SPDX-License-Identifier: BSD-3-Clause
#include "comm/bootstrap.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "comm/cores.hpp"
#include "comm/wire.hpp"
#include "select/select.hpp"
#include "transport/doorbell.hpp"

namespace stretto::comm {

using transport::Segment;

namespace {

// A descriptor that is closed with its owner.
class Socket {
public:
    explicit Socket(int fd = -1) : fd_(fd) {}
    Socket(Socket &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Socket &operator=(Socket &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Socket() {
        if (fd_ >= 0)
            close(fd_);
    }
    int fd() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

Socket open_socket() {
    Socket result(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (result.fd() < 0)
        throw_errno("cannot open a Unix socket");
    return result;
}

// A name in the abstract namespace: the leading zero byte keeps it out of the file system.
socklen_t address(const std::string &job, sockaddr_un &result) {
    std::string name = "stretto-" + std::to_string(getuid()) + "-" + job;
    const std::size_t most = sizeof(result.sun_path) - 1;
    if (name.size() > most) // long names keep their hash
        name =
            name.substr(0, most - 17) + "-" + std::to_string(std::hash<std::string>{}(name) >> 11);
    result = {};
    result.sun_family = AF_UNIX;
    std::memcpy(result.sun_path + 1, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

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

bool readable(int fd, int milliseconds) {
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, milliseconds) > 0;
}

void send_answer(int fd, Status status, const std::string &message, const Segment *segment) {
    auto answer = write(status, message);
    iovec data{answer.data(), answer.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr packet{};
    packet.msg_iov = &data;
    packet.msg_iovlen = 1;
    if (segment != nullptr) {
        packet.msg_control = control;
        packet.msg_controllen = sizeof(control);
        cmsghdr *rights = CMSG_FIRSTHDR(&packet);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
        const int descriptors[2] = {segment->fd(), segment->heap_fd()};
        std::memcpy(CMSG_DATA(rights), descriptors, sizeof(descriptors));
    }
    // A peer that has died meanwhile is found when it does not join.
    (void)sendmsg(fd, &packet, MSG_NOSIGNAL);
}

// The descriptors that came with a packet, owned from the moment they are here.
std::vector<Socket> descriptors_of(msghdr &packet) {
    std::vector<Socket> owned;
    for (cmsghdr *part = CMSG_FIRSTHDR(&packet); part != nullptr;
         part = CMSG_NXTHDR(&packet, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
            owned.emplace_back(fd);
        }
    }
    return owned;
}

std::shared_ptr<Segment> receive_segment(int fd, const std::string &job) {
    std::array<std::byte, kAnswerBytes> bytes;
    iovec data{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr packet{};
    packet.msg_iov = &data;
    packet.msg_iovlen = 1;
    packet.msg_control = control;
    packet.msg_controllen = sizeof(control);
    const ssize_t length = recvmsg(fd, &packet, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (length <= 0)
        throw Error(Status::peer,
                    "rank 0 has died before job '" + job + "' was complete; look at its output");
    std::vector<Socket> descriptors = descriptors_of(packet);
    const auto answer =
        static_cast<std::size_t>(length) == bytes.size() ? parse_answer(bytes) : std::nullopt;
    if (!answer)
        throw Error(Status::mismatch,
                    "the ranks of this job run different versions of Stretto; install one version");
    if (answer->status != Status::ok)
        throw Error(answer->status, answer->message);
    if (descriptors.size() != 2)
        throw Error(Status::system,
                    "rank 0 sent no descriptors; is the limit of open files reached?");
    return Segment::attach(descriptors[0].release(), descriptors[1].release());
}

std::string missing(const std::vector<Socket> &peers) {
    std::string names;
    for (std::size_t rank = 1; rank < peers.size(); ++rank)
        if (peers[rank].fd() < 0)
            names += " " + std::to_string(rank);
    return names;
}

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
void admit(Socket caller, const Identity &me, std::vector<Socket> &peers, cpu_set_t &cores) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    std::array<std::byte, kHelloBytes> bytes;
    if (getsockopt(caller.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        credentials.uid != getuid() || !readable(caller.fd(), 1000) ||
        recv(caller.fd(), bytes.data(), bytes.size(), MSG_TRUNC) !=
            static_cast<ssize_t>(bytes.size()))
        return;
    const auto greeting = parse_hello(bytes);
    if (!greeting)
        return;
    const Hello &hello = *greeting;
    const auto refuse = [&](const std::string &why) {
        send_answer(caller.fd(), Status::mismatch, why, nullptr);
        throw Error(Status::mismatch, why);
    };
    if (hello.size != me.size)
        refuse("rank " + std::to_string(hello.rank) + " says that job '" + me.job + "' has " +
               std::to_string(hello.size) + " ranks, rank 0 says " + std::to_string(me.size) +
               "; start all ranks of the job alike");
    if (hello.rank < 1 || hello.rank >= me.size ||
        peers[static_cast<std::size_t>(hello.rank)].fd() >= 0)
        refuse("two processes of job '" + me.job + "' say that they are rank " +
               std::to_string(hello.rank) + "; give every job a name of its own");
    CPU_OR(&cores, &cores, &hello.cores);
    peers[static_cast<std::size_t>(hello.rank)] = std::move(caller);
}

std::shared_ptr<Segment> found(const Identity &me, const Origin *origin, const std::string &name) {
    cpu_set_t cores = affinity();
    std::vector<Socket> peers(static_cast<std::size_t>(me.size));
    const auto tell_all = [&](Status status, const std::string &why, const Segment *segment) {
        for (const Socket &peer : peers)
            if (peer.fd() >= 0)
                send_answer(peer.fd(), status, why, segment);
    };
    try {
        if (me.size > 1) {
            sockaddr_un where;
            const socklen_t length = address(name, where);
            const Socket listener = open_socket();
            if (bind(listener.fd(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
                if (errno == EADDRINUSE)
                    throw Error(Status::argument, "another process is rank 0 of job '" + me.job +
                                                      "'; give every job a name of its own");
                throw_errno("cannot bind the job's socket");
            }
            if (listen(listener.fd(), me.size) != 0)
                throw_errno("cannot listen on the job's socket");
            Patience patience(origin);
            for (std::string absent = missing(peers); !absent.empty(); absent = missing(peers)) {
                patience.watch();
                if (readable(listener.fd(), 100))
                    admit(Socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)), me, peers,
                          cores);
                else if (patience.ended())
                    throw Error(Status::timeout,
                                "after " + patience.seconds() + " rank(s)" + absent + " of job '" +
                                    me.job + "' have not come to " +
                                    (origin == nullptr
                                         ? "stretto_init on this host; all ranks must run on one "
                                           "host"
                                         : me.launcher + "; all of its ranks must call it"));
            }
        }
        auto segment = Segment::create(shape_for(me, origin, cores));
        tell_all(Status::ok, "", segment.get());
        return segment;
    } catch (const Error &error) {
        tell_all(error.status(), error.what(), nullptr);
        throw;
    }
}

std::shared_ptr<Segment> follow(const Identity &me, const Origin *origin, const std::string &name) {
    sockaddr_un where;
    const socklen_t length = address(name, where);
    Patience patience(origin);
    Socket socket = open_socket();
    unsigned nap = 50; // microseconds
    while (connect(socket.fd(), reinterpret_cast<sockaddr *>(&where), length) != 0) {
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
    if (send(socket.fd(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(hello.size()))
        throw_errno("cannot talk to rank 0");
    while (!readable(socket.fd(), 100)) {
        patience.watch();
        if (patience.ended())
            throw Error(Status::timeout, "job '" + me.job + "' was not complete within " +
                                             patience.seconds() + "; rank 0 names who is missing");
    }
    return receive_segment(socket.fd(), me.job);
}

} // namespace

std::shared_ptr<Segment> join(const Identity &me, const Origin *origin) {
    const std::string name = origin != nullptr ? origin->place : instance(me);
    auto segment = me.rank == 0 ? found(me, origin, name) : follow(me, origin, name);
    segment->hold_life(me.rank, true);
    if (!transport::register_for_barrier())
        segment->header().signals.fences.store(1, std::memory_order_seq_cst);
    segment->lines(me.rank).joined.store(1, std::memory_order_seq_cst);
    Patience patience(origin);
    for (int rank = 0; rank < me.size; ++rank) {
        const auto has_joined = [&] {
            return segment->lines(rank).joined.load(std::memory_order_seq_cst) != 0;
        };
        while (!has_joined()) {
            if (patience.ended())
                throw Error(Status::timeout,
                            "rank " + std::to_string(rank) + " died while the job was starting");
            try {
                patience.watch();
            } catch (const Error &) {
                if (!has_joined()) // else who is gone may have been through with this
                    throw;
            }
            usleep(50);
        }
    }
    return segment;
}

} // namespace stretto::comm
