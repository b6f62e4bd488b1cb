// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/host_meeting.hpp"

#include <numeric>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/call_scope.hpp"
#include "base/interrupted.hpp"
#include "bootstrap/phrases.hpp"
#include "bootstrap/shape.hpp"
#include "net/bytes.hpp"
#include "net/secret.hpp"
#include "net/sockets.hpp"
#include "transport/shm/job_memory.hpp"

namespace stretto::bootstrap {

namespace {

AddressTable table_of(const transport::SegmentShape &shape, std::uint32_t sockets) {
    AddressTable table;
    table.ring_bytes = shape.ring_bytes;
    table.slice_bytes = shape.slice_bytes;
    table.heap_bytes = shape.heap_bytes;
    table.profile = shape.profile;
    table.sockets = sockets;
    const net::Bytes32 random = net::random_bytes();
    table.key = net::get<std::uint64_t>(random, 0) | 1; // not 0
    return table;
}

net::Secret secret_of(const Identity &me) {
    if (me.secret.empty())
        return net::load_secret();
    return net::Secret(me.secret, net::SecretSource::setting, "the secret of the job");
}

// Where rank 0 waits for the others.  If it cannot be there, it tells them so at the next port: the
// process that has its port says nothing to them.
Descriptor door_of(const Config &config, const Identity &me, const net::Key &key,
                   const AddressTable &table, const Patience &patience) {
    if (me.door != nullptr)
        return std::move(*me.door);
    const std::uint16_t port = net::parse_endpoint(me.address_from, me.address).port;
    try {
        return net::listen_everywhere(port);
    } catch (const Error &error) {
        const Error why(error.status(),
                        rank_here(me.rank) + ": " + error.what() + " (" + me.address_from + ")");
        try {
            if (port < UINT16_MAX)
                Rendezvous(Rendezvous::Aside(), config, me, key,
                           net::listen_everywhere(static_cast<std::uint16_t>(port + 1)), table,
                           patience)
                    .turn_away(why);
        } catch (const Error &) { // nor can it be there
        }
        throw why;
    }
}

} // namespace

// Launchers name jobs differently on each host, and ranks may disagree on how many there are, which
// they are to be told: so neither is part of the key.
HostMeeting::HostMeeting(const Config &config, const Identity &me, int instance, Patience &patience)
    : config_(config), me_(me), patience_(patience),
      key_(secret_of(me).job_key(me.address, static_cast<std::uint64_t>(instance))) {
    try {
        if (me.rank == 0) {
            const AddressTable table =
                table_of(shape_for(config, me.size, 1), config.network.sockets);
            rendezvous_ = std::make_unique<Rendezvous>(
                config, me, key_, door_of(config, me, key_, table, patience), table, patience);
        }
        // Jobs without a name, started by hand, are told apart by where they meet.
        const std::string socket = me.job + "-" + std::to_string(instance) + " at " + me.address +
                                   " of host " + host_named(config.network.fake_hosts, me.rank) +
                                   " " + me.launch;
        local_ = meet({config, me_, socket, patience, this});
    } catch (const Error &error) {
        failed(error);
        throw;
    }
}

void HostMeeting::describe(RankRecord &mine) {
    if (open_.tcp == nullptr) // else this rank has called a leader that has gone
        open_ = open_transports({me_.rank, me_.size, key_,
                                 net::parse_endpoint(me_.address_from, me_.address).port,
                                 config_.network});
    mine.launch = launch_hash(me_);
    mine.endpoints = open_.endpoints;
    mine.lacks = open_.lacks;
}

void HostMeeting::lead() {
    leader_ = std::make_unique<NodeLeader>(config_.network, me_, key_, patience_);
}

bool HostMeeting::all_named() {
    leader_->progress();
    return leader_->table().has_value();
}

transport::SegmentShape HostMeeting::shape() {
    take_table(*leader_->table());
    transport::SegmentShape shape;
    shape.ranks = static_cast<int>(table_.host_of.size());
    shape.cores = table_.cores;
    shape.one_machine = table_.one_machine;
    shape.ring_bytes = static_cast<std::size_t>(table_.ring_bytes);
    shape.slice_bytes = static_cast<std::size_t>(table_.slice_bytes);
    shape.heap_bytes = static_cast<std::size_t>(table_.heap_bytes);
    shape.profile = table_.profile;
    shape.key = table_.key;
    shape.placement = placement_;
    return shape;
}

// A file in memory: the table may be longer than a packet.
Descriptor HostMeeting::table() {
    const std::vector<std::byte> bytes = write(table_);
    Descriptor file = transport::anonymous_file("stretto-table", bytes.size());
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t put = uninterrupted([&] {
            return pwrite(file.get(), bytes.data() + done, bytes.size() - done,
                          static_cast<off_t>(done));
        });
        if (put <= 0)
            throw_errno("cannot hand out where the ranks are");
        done += static_cast<std::size_t>(put);
    }
    return file;
}

transport::Placement HostMeeting::read(int file) {
    struct stat info{};
    std::vector<std::byte> bytes;
    if (fstat(file, &info) == 0 && info.st_size > 0 &&
        static_cast<std::size_t>(info.st_size) <= most_table_bytes(me_.size))
        bytes.resize(static_cast<std::size_t>(info.st_size));
    const ssize_t got = uninterrupted([&] { return pread(file, bytes.data(), bytes.size(), 0); });
    auto parsed = got == static_cast<ssize_t>(bytes.size()) ? parse_table(bytes) : std::nullopt;
    if (!parsed)
        throw Error(Status::mismatch, "the ranks of this host run different versions of Stretto; "
                                      "install one version");
    take_table(std::move(*parsed));
    return placement_;
}

void HostMeeting::take_table(AddressTable table) {
    table_ = std::move(table);
    const std::vector<std::int32_t> &host_of = table_.host_of;
    if (host_of.size() != static_cast<std::size_t>(me_.size))
        throw Error(Status::mismatch, "rank 0 says that the job has " +
                                          std::to_string(host_of.size()) + " ranks, rank " +
                                          std::to_string(me_.rank) + " says " +
                                          std::to_string(me_.size));
    placement_ = transport::Placement(host_of, host_of[static_cast<std::size_t>(me_.rank)]);
}

Mesh HostMeeting::connect() {
    if (placement_.one_host())
        return {};
    const std::string agreed = agreed_transport(table_.endpoints);
    const auto addresses = [&](std::string_view transport) {
        std::vector<std::vector<std::byte>> by_rank;
        for (const transport::Endpoints &each : table_.endpoints) {
            const transport::EndpointAddress *own = find(each, transport);
            by_rank.push_back(own == nullptr ? std::vector<std::byte>() : own->bytes);
        }
        return by_rank;
    };
    const int lanes = static_cast<int>(table_.sockets);
    open_.tcp->meet(addresses(tcp_factory().name()), lanes);
    reach_.acceptor = open_.tcp->acceptor();
    reach_.transport = open_.named(agreed);
    if (reach_.transport == nullptr) // rank 0 would not have sent the table
        throw Error(Status::mismatch, rank_here(me_.rank) + " does not know transport '" + agreed +
                                          "', which rank 0 says that all ranks can use; install "
                                          "one version of Stretto everywhere");
    if (reach_.transport != open_.tcp)
        reach_.transport->meet(addresses(agreed), lanes);
    open_ = {}; // the others are not needed
    reach_.ranks.resize(table_.endpoints.size());
    std::iota(reach_.ranks.begin(), reach_.ranks.end(), 0);
    return connect_all(
        me_, reach_, table_.key, placement_, Kinds::data_and_control, [this] { watch(); },
        patience_);
}

void HostMeeting::watch() {
    interruption_point();
    if (leader_ != nullptr)
        leader_->progress();
    if (local_.segment->failed())
        throw local_.segment->failure();
}

void HostMeeting::complete() {
    if (leader_ != nullptr)
        leader_->complete();
    const auto waits = [this] {
        return (leader_ != nullptr && !leader_->may_go()) ||
               (rendezvous_ != nullptr && !rendezvous_->over());
    };
    while (waits()) {
        watch();
        usleep(100);
    }
}

void HostMeeting::failed(const Error &error) noexcept {
    if (rendezvous_ != nullptr)
        rendezvous_->give_up(error);
    else if (leader_ != nullptr)
        leader_->failed(error.status(), error.what());
}

} // namespace stretto::bootstrap
