// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one host, before they share memory: the first of them speaks for all.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/call_scope.hpp"
#include "base/interrupted.hpp"
#include "bootstrap/cores.hpp"
#include "bootstrap/local/callers.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/local/wire.hpp"
#include "bootstrap/network/host_meeting.hpp"
#include "bootstrap/network/mesh.hpp"
#include "net/sockets.hpp"
#include "transport/shm/mapping.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

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
        if (uninterrupted([&] { return ::connect(place.socket.get(), at, length); }) == 0) {
            check_listener(place.socket.get(), me.words());
            return place;
        }
        // It is bound, but nobody listens yet, or any more, or its queue is full.
        if (errno != ECONNREFUSED && errno != EAGAIN)
            throw_errno("cannot reach the ranks of this host");
        if (patience.ended())
            throw Error(Status::timeout, rank_here(me.rank) +
                                             " found no rank that speaks for its host within " +
                                             patience.seconds() +
                                             ": a process has its socket and takes no calls; is it "
                                             "stopped?");
        interruption_point();
        usleep(200);
    }
}

transport::SegmentShape shape_of(const AddressTable &table, const transport::Placement &placement) {
    transport::SegmentShape shape;
    shape.ranks = static_cast<int>(table.host_of.size());
    shape.cores = table.cores;
    shape.ring_bytes = static_cast<std::size_t>(table.ring_bytes);
    shape.slice_bytes = static_cast<std::size_t>(table.slice_bytes);
    shape.heap_bytes = static_cast<std::size_t>(table.heap_bytes);
    shape.profile = table.profile;
    shape.key = table.key;
    shape.placement = placement;
    return shape;
}

AddressTable read_table(int file, int ranks) {
    struct stat info{};
    std::vector<std::byte> bytes;
    if (fstat(file, &info) == 0 && info.st_size > 0 &&
        static_cast<std::size_t>(info.st_size) <= most_table_bytes(ranks))
        bytes.resize(static_cast<std::size_t>(info.st_size));
    const ssize_t got = uninterrupted([&] { return pread(file, bytes.data(), bytes.size(), 0); });
    auto table = got == static_cast<ssize_t>(bytes.size()) ? parse_table(bytes) : std::nullopt;
    if (!table)
        throw Error(Status::mismatch, "the ranks of this host run different versions of Stretto; "
                                      "install one version");
    return std::move(*table);
}

} // namespace

void HostMeeting::discover_local_ranks(int instance) {
    // Jobs without a name, started by hand, are told apart by where they meet.
    const std::string name = me_.job + "-" + std::to_string(instance) + " at " + me_.address +
                             " of host " + host_named(config_.network.fake_hosts, me_.rank) + " " +
                             me_.launch;
    for (;;) {
        Place place = find_place(me_, name, patience_);
        if (place.listener.open())
            return lead(std::move(place.listener));
        if (follow_leader(std::move(place.socket)))
            return;
        usleep(1000);
    }
}

// By what other hosts reach this rank.  What keeps it from that can be told already.
void HostMeeting::listen() {
    check(config_, me_);
    open_ =
        open_transports({me_.rank, me_.size, key_,
                         net::parse_endpoint(me_.address_from, me_.address).port, config_.network});
}

RankRecord HostMeeting::own_record() const {
    RankRecord record;
    record.rank = me_.rank;
    record.size = me_.size;
    record.cores = affinity();
    record.launch = launch_hash(me_);
    record.endpoints = open_.endpoints;
    record.lacks = open_.lacks;
    return record;
}

// In memory, since it may be longer than a packet: the others of this host get its descriptor.
void HostMeeting::hand_out_table() {
    const std::vector<std::byte> bytes = write(table_);
    const Descriptor file = transport::anonymous_file("stretto-table", bytes.size());
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t put = uninterrupted([&] {
            return pwrite(file.get(), bytes.data() + done, bytes.size() - done,
                          static_cast<off_t>(done));
        });
        if (put <= 0)
            throw_errno("cannot hand out where the ranks are");
        done += static_cast<std::size_t>(put);
    }
    const int descriptor = file.get();
    for (const Descriptor &peer : local_.sockets)
        if (peer.open())
            send_answer(peer.get(), Status::ok, "table", {&descriptor, 1});
}

// This rank names the others of its host to rank 0, makes the segment and hands it out.
void HostMeeting::lead(Descriptor listener) {
    local_.founder = me_.rank;
    Callers callers(listener, me_.rank, std::max(kMostRankRecordBytes, kAnswerBytes));
    const auto tell_local_ranks = [&](Status status, std::string_view why,
                                      std::span<const int> descriptors = {}) {
        for (const Descriptor &peer : local_.sockets)
            if (peer.open())
                send_answer(peer.get(), status, why, descriptors);
    };
    try {
        leader_ = std::make_unique<NodeLeader>(config_.network, me_, key_, patience_);
        listen();
        RankRecord mine = own_record();
        cores_ = mine.cores;
        mine.cores_here = cores_worth(cores_);
        leader_->name(mine);
        while (!leader_->table()) {
            leader_->progress();
            interruption_point();
            constexpr int kPollMs = 2;
            callers.hear(kPollMs, [this](Descriptor caller, auto greeting) {
                admit(std::move(caller), greeting);
            });
            if (const int rank = heard_from(local_.sockets); rank >= 0)
                throw refusal_of(rank, local_.sockets[static_cast<std::size_t>(rank)].get());
        }
        take_table(*leader_->table());
        local_.segment = Segment::create(shape_of(table_, placement_));
        const int descriptors[] = {local_.segment->fd(), local_.segment->heap_fd()};
        tell_local_ranks(Status::ok, std::to_string(me_.rank), descriptors);
        hand_out_table();
    } catch (const Error &error) {
        tell_local_ranks(error.status(), error.what());
        callers.answer(error.status(), error.what(), 0, me_.size);
        throw;
    }
}

// A rank of this host has called.  Who is none of ours is turned away without harm.
void HostMeeting::admit(Descriptor caller, std::span<const std::byte> greeting) {
    throw_refusal(greeting);
    auto record = parse_rank_record(greeting);
    if (!record)
        return;
    const auto refuse = [&](const std::string &why) {
        send_answer(caller.get(), Status::mismatch, why);
        throw Error(Status::mismatch, why);
    };
    const std::string who = "rank " + std::to_string(record->rank) + " on " + net::host_name();
    if (record->size != me_.size)
        refuse(who + " says that " + me_.words() + " has " + std::to_string(record->size) +
               " ranks, rank " + std::to_string(me_.rank) + " says " + std::to_string(me_.size) +
               "; start all ranks of the job alike");
    if (record->rank < 0 || record->rank >= me_.size || record->rank == me_.rank ||
        local_.sockets[static_cast<std::size_t>(record->rank)].open())
        refuse("two processes say that they are " + who + ", of " + me_.words() +
               "; give every job an address of its own (" + me_.address_from + ")");
    cores_.add(record->cores);
    record->cores_here = cores_worth(cores_);
    leader_->name(*record);
    send_answer(caller.get(), Status::ok, kWelcome);
    local_.sockets[static_cast<std::size_t>(record->rank)] = std::move(caller);
}

// Another rank speaks for this host.  False: it has gone before it has let this rank in.
bool HostMeeting::follow_leader(Descriptor socket) {
    try {
        const std::string speaker = "the rank that speaks for " + net::host_name();
        if (open_.tcp == nullptr)
            listen();
        auto handed = greet(socket.get(), write(own_record()), me_, speaker, patience_);
        if (!handed)
            return false;
        take_handed(socket.get(), std::move(*handed));
    } catch (const Error &error) {
        send_answer(socket.get(), error.status(), error.what());
        throw;
    }
    local_.sockets[static_cast<std::size_t>(local_.founder)] = std::move(socket);
    return true;
}

// What the rank that speaks for this host hands out: memory, and then where all ranks are.
void HostMeeting::take_handed(int fd, Handed handed) {
    const std::string speaker = "the rank that speaks for " + net::host_name();
    constexpr int kPollMs = 100;
    for (; !readable(fd, kPollMs); interruption_point())
        if (patience_.ended_for_word())
            throw Error(Status::timeout, "rank " + std::to_string(me_.rank) +
                                             " heard nothing more of " + speaker + " within " +
                                             patience_.seconds() + "; is that one stopped?");
    std::array<std::byte, kAnswerBytes> packet_bytes;
    const Packet packet = receive(fd, packet_bytes);
    const auto answer =
        packet.size == packet_bytes.size() ? parse_answer(packet_bytes) : std::nullopt;
    if (!answer)
        throw Error(Status::peer, speaker + " has died before " + me_.words() +
                                      " was complete; look at its output");
    if (answer->status != Status::ok)
        throw Error(answer->status, answer->message);
    if (packet.descriptor_count != 1)
        throw Error(Status::system, rank_here(me_.rank) +
                                        " has no descriptor left for the table of the job's ranks; "
                                        "raise the limit of open files (ulimit -n)");
    take_table(read_table(packet.descriptors[0].get(), me_.size));
    local_.segment = Segment::attach(std::move(handed.segment), std::move(handed.heap), placement_);
    local_.founder = std::clamp(std::atoi(handed.note.c_str()), 0, me_.size - 1);
}

} // namespace stretto::bootstrap
