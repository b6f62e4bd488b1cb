// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/hosts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "base/settings.hpp"
#include "comm/cores.hpp"
#include "comm/hosts/mesh.hpp"
#include "comm/hosts/tcp_carrier.hpp"
#include "comm/packets.hpp"
#include "comm/shape.hpp"
#include "comm/wire.hpp"
#include "net/bytes.hpp"
#include "net/secret.hpp"
#include "net/sockets.hpp"

namespace stretto::comm {

using transport::Segment;

namespace {

std::uint64_t deadline() {
    const std::uint64_t limit = nanoseconds(Setting::init_timeout);
    return limit == 0 ? UINT64_MAX : now_ns() + limit;
}

Table table_of(const transport::SegmentShape &shape) {
    Table table;
    table.ring_bytes = shape.ring_bytes;
    table.slice_bytes = shape.slice_bytes;
    table.heap_bytes = shape.heap_bytes;
    const net::Bytes32 random = net::random_bytes();
    table.key = net::get<std::uint64_t>(random, 0) | 1; // not 0
    return table;
}

transport::SegmentShape shape_of(const Table &table, const transport::Placement &placement) {
    transport::SegmentShape shape;
    shape.ranks = static_cast<int>(table.host_of.size());
    shape.cores = table.cores;
    shape.ring_bytes = static_cast<std::size_t>(table.ring_bytes);
    shape.slice_bytes = static_cast<std::size_t>(table.slice_bytes);
    shape.heap_bytes = static_cast<std::size_t>(table.heap_bytes);
    shape.key = table.key;
    shape.placement = placement;
    return shape;
}

// What STRETTO_HOSTS says of a rank.
std::string host_named(int rank) {
    const std::string names = text(Setting::hosts);
    const auto commas = std::count(names.begin(), names.end(), ',');
    std::istringstream list(names);
    std::string name;
    for (auto skip = rank % (commas + 1); skip >= 0; --skip)
        std::getline(list, name, ',');
    return name;
}

// Either where this rank listens for its neighbours, or its way to the one that does.
struct Place {
    Descriptor listener, socket;
};

Place find_place(const Identity &me, const std::string &name, Patience &patience) {
    sockaddr_un where;
    const socklen_t length = address(name, where);
    const auto *at = reinterpret_cast<const sockaddr *>(&where);
    for (;;) {
        Place place;
        place.listener = open_socket();
        if (bind(place.listener.get(), at, length) == 0) {
            if (listen(place.listener.get(), me.size) != 0)
                throw_errno("cannot listen on the socket of this host's ranks");
            return place;
        }
        if (errno != EADDRINUSE)
            throw_errno("cannot bind the socket of this host's ranks");
        place.listener = Descriptor();
        place.socket = open_socket();
        if (::connect(place.socket.get(), at, length) == 0)
            return place;
        // It is bound, but nobody listens yet, or any more.
        if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
            throw_errno("cannot reach the ranks of this host");
        if (patience.ended())
            throw Error(Status::timeout, "rank " + std::to_string(me.rank) +
                                             " found no rank that speaks for its host within " +
                                             patience.seconds());
        usleep(200);
    }
}

} // namespace

// Launchers name jobs differently on each host, and ranks may disagree on how many there are, which
// they are to be told: so neither is part of the key.
HostMeeting::HostMeeting(const Identity &me, int instance)
    : me_(me), key_(net::load_secret().job_key(me.address, static_cast<std::uint64_t>(instance))),
      socket_(net::listen_everywhere(0)), port_(net::local_address(socket_.get()).port()),
      meeting_{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(me.size)), -1} {
    if (me.rank == 0) {
        const net::Endpoint endpoint = net::parse_endpoint("STRETTO_ADDR", me.address);
        rendezvous_ = std::make_unique<Rendezvous>(me, key_, net::listen_everywhere(endpoint.port),
                                                   table_of(shape_for(me.size, 1)));
    }
    Patience patience(nullptr);
    Place place = find_place(
        me, me.job + "-" + std::to_string(instance) + " of host " + host_named(me.rank), patience);
    if (place.listener.open())
        speak(std::move(place.listener));
    else
        follow(std::move(place.socket));
}

Seat HostMeeting::own_seat() const {
    Seat seat;
    seat.rank = me_.rank;
    seat.size = me_.size;
    seat.port = port_;
    seat.cores = affinity();
    return seat;
}

void HostMeeting::take_table(const Table &table) {
    table_ = table;
    if (table.host_of.size() != static_cast<std::size_t>(me_.size))
        throw Error(Status::mismatch, "rank 0 says that the job has " +
                                          std::to_string(table.host_of.size()) + " ranks, rank " +
                                          std::to_string(me_.rank) + " says " +
                                          std::to_string(me_.size));
    placement_ =
        transport::Placement(table.host_of, table.host_of[static_cast<std::size_t>(me_.rank)]);
}

// This rank names the others of its host to rank 0, makes the segment and hands it out.
void HostMeeting::speak(Descriptor listener) {
    meeting_.founder = me_.rank;
    const auto tell_neighbours = [&](Status status, std::string_view why,
                                     std::span<const int> descriptors = {}) {
        for (const Descriptor &peer : meeting_.sockets)
            if (peer.open())
                send_answer(peer.get(), status, why, descriptors);
    };
    try {
        spokesman_ = std::make_unique<Spokesman>(me_, key_, deadline());
        Seat mine = own_seat();
        cores_ = mine.cores;
        mine.cores_here = cores_worth(cores_);
        spokesman_->name(mine);
        while (!spokesman_->table()) {
            spokesman_->progress();
            constexpr int kMilliseconds = 2;
            if (readable(listener.get(), kMilliseconds))
                admit(Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
            for (std::size_t rank = 0; rank < meeting_.sockets.size(); ++rank)
                if (const Descriptor &peer = meeting_.sockets[rank];
                    peer.open() && readable(peer.get(), 0))
                    throw Error(Status::peer, "rank " + std::to_string(rank) +
                                                  " died while the job was starting");
        }
        take_table(*spokesman_->table());
        meeting_.segment = Segment::create(shape_of(table_, placement_));
        const int descriptors[] = {meeting_.segment->fd(), meeting_.segment->heap_fd()};
        tell_neighbours(Status::ok, std::to_string(me_.rank), descriptors);
        const std::vector<std::byte> bytes = write(table_);
        for (const Descriptor &peer : meeting_.sockets)
            if (peer.open())
                (void)send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } catch (const Error &error) {
        tell_neighbours(error.status(), error.what());
        failed(error);
        throw;
    }
}

// A rank of this host has called.  Who is none of ours is turned away without harm.
void HostMeeting::admit(Descriptor caller) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    std::array<std::byte, kMostSeatBytes> bytes;
    constexpr int kMilliseconds = 1000;
    if (getsockopt(caller.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        credentials.uid != getuid() || !readable(caller.get(), kMilliseconds))
        return;
    const std::size_t size = receive(caller.get(), bytes).size;
    auto seat = parse_seat(std::span(bytes).first(std::min(size, bytes.size())));
    if (!seat || seat->rank < 0 || seat->rank >= me_.size)
        return;
    CPU_OR(&cores_, &cores_, &seat->cores);
    seat->cores_here = cores_worth(cores_);
    spokesman_->name(*seat);
    meeting_.sockets[static_cast<std::size_t>(seat->rank)] = std::move(caller);
}

// Another rank speaks for this host.
void HostMeeting::follow(Descriptor socket) {
    const std::vector<std::byte> seat = write(own_seat());
    if (send(socket.get(), seat.data(), seat.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(seat.size()))
        throw_errno("cannot talk to the rank that speaks for this host");
    const Patience patience(nullptr);
    const auto wait = [&] {
        constexpr int kMilliseconds = 100;
        while (!readable(socket.get(), kMilliseconds))
            if (patience.ended())
                throw Error(Status::timeout, "job '" + me_.job + "' was not complete within " +
                                                 patience.seconds() +
                                                 "; rank 0 names who is missing");
    };
    wait();
    const int fd = socket.get();
    Handed handed = receive_handed(fd, me_.job, "the rank that speaks for this host");
    std::vector<std::byte> bytes(most_table_bytes(me_.size));
    wait();
    const std::size_t size = receive(fd, bytes).size;
    const auto table = parse_table(std::span(bytes).first(std::min(size, bytes.size())));
    if (!table)
        throw Error(Status::peer, "the rank that speaks for this host has died before job '" +
                                      me_.job + "' was complete; look at its output");
    take_table(*table);
    meeting_.segment =
        Segment::attach(std::move(handed.segment), std::move(handed.heap), placement_);
    meeting_.founder = std::clamp(std::atoi(handed.note.c_str()), 0, me_.size - 1);
    meeting_.sockets[static_cast<std::size_t>(meeting_.founder)] = std::move(socket);
}

std::unique_ptr<transport::Carrier> HostMeeting::connect() {
    if (placement_.one_host())
        return nullptr;
    reach_.lobby = std::make_shared<Lobby>(key_, me_.rank, table_.addresses, std::move(socket_));
    reach_.ranks.resize(table_.addresses.size());
    std::iota(reach_.ranks.begin(), reach_.ranks.end(), 0);
    return tcp_carrier(*meeting_.segment, me_.rank,
                       connect_all(me_, reach_, table_.key, placement_, [this] { watch(); }));
}

void HostMeeting::watch() {
    if (spokesman_ != nullptr)
        spokesman_->progress();
    if (meeting_.segment->failed())
        throw meeting_.segment->failure();
}

void HostMeeting::complete() {
    if (spokesman_ != nullptr)
        spokesman_->complete();
    const auto waits = [this] {
        return (spokesman_ != nullptr && !spokesman_->may_go()) ||
               (rendezvous_ != nullptr && !rendezvous_->over());
    };
    while (waits()) {
        watch();
        usleep(100);
    }
}

void HostMeeting::failed(const Error &error) noexcept {
    if (spokesman_ != nullptr)
        spokesman_->failed(error.status(), error.what());
}

} // namespace stretto::comm
