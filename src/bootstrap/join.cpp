// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/join.hpp"

#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <unistd.h>
#include <utility>

#include "base/process.hpp"
#include "base/spelling.hpp"
#include "base/warning.hpp"
#include "bootstrap/local/child_segment.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/network/host_meeting.hpp"
#include "bootstrap/network/mesh.hpp"
#include "bootstrap/network/remote_carrier.hpp"
#include "bootstrap/network/transports.hpp"
#include "bootstrap/patience.hpp"
#include "bootstrap/phrases.hpp"
#include "engine/failure.hpp"
#include "net/congestion.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"
#include "transport/shm/in_place.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/wait/doorbell.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

// By job and rank, how often this process has joined.  Threads may outlive main().
auto &joins_mutex = *new ProcessLock;
auto &joins = *new std::map<std::pair<std::string, int>, int>;

// Which of this rank's inits this is: a job may join again.
int instance(const Identity &me) {
    const std::lock_guard lock(joins_mutex);
    return joins[{me.job, me.rank}]++;
}

bool joined(const Segment &segment, int rank) {
    return segment.lines(rank).joined.load(std::memory_order_seq_cst) != 0;
}

// `rank`, which has not joined, has sent something or closed its socket.
void hear(Segment &segment, int rank, int fd) {
    const Error refusal = refusal_of(rank, fd);
    if (!joined(segment, rank)) // else it has gone on; rank 0 leaves when all have joined
        segment.fail(refusal.status(), refusal.what());
}

// The leader of the host hears members that have not joined.  A member: the leader stays until all
// ranks have joined, so if it is gone and `awaited` is missing, it has died.
void listen_to_all(const Identity &me, const LocalSegment &local, int awaited) {
    Segment &segment = *local.segment;
    for (int rank = 0; rank < me.size; ++rank) {
        const Descriptor &socket = local.sockets[static_cast<std::size_t>(rank)];
        const int missing_rank = me.rank == local.leader ? rank : awaited;
        if (!socket.open() || joined(segment, missing_rank) || !readable(socket.get(), 0))
            continue;
        if (me.rank == local.leader)
            hear(segment, rank, socket.get());
        else if (!joined(segment, awaited))
            segment.fail(Status::peer,
                         rank_here(local.leader) + " died while the job was starting");
    }
}

// Returns when all have joined.
void complete(const Identity &me, const LocalSegment &local, Patience &patience) {
    Segment &segment = *local.segment;
    for (int rank = 0; rank < me.size; ++rank)
        while (segment.here(rank) && !joined(segment, rank)) {
            if (segment.failed())
                throw segment.failure();
            listen_to_all(me, local, rank);
            if (patience.ended_for_reports())
                segment.fail(Status::timeout, rank_here(rank) +
                                                  " has come, and has not joined the job within " +
                                                  patience.seconds() + "; is it stopped?");
            try {
                patience.watch();
            } catch (const Error &error) {
                if (!joined(segment,
                            rank)) // else the rank that is gone may have been through with this
                    segment.fail(error.status(), error.what());
            }
            usleep(50);
        }
}

// All ranks of the host go without it then, which is slower and as right.
void warn_of_xpmem(const Identity &me, const std::string &why) {
    if (!why.empty())
        warn("STRETTO_XPMEM is on, but the ranks of this host cannot read one another's memory in "
             "place, and go by STRETTO_CMA: " +
             rank_here(me.rank) + " says: " + why);
}

// This rank has what it needs: says so, and waits for the others.
void enter(const Config &config, const Identity &me, const LocalSegment &local,
           Patience &patience) {
    Segment &segment = *local.segment;
    if (!transport::register_for_barrier()) {
        segment.memory()->header().fences.store(1, std::memory_order_relaxed);
        segment.header().signals.fences.store(1, std::memory_order_seq_cst);
    }
    transport::offer_memory(segment, me.rank);
    if (config.kernels.xpmem)
        warn_of_xpmem(me, transport::offer_in_place(segment, me.rank));
    segment.lines(me.rank).joined.store(1, std::memory_order_seq_cst);
    complete(me, local, patience);
    warn_of_xpmem(me, transport::try_in_place(segment, me.rank, config.kernels.xpmem));
    transport::try_memory(segment, me.rank, config.kernels.cma != "off");
}

// From now on the communicator hears of the ends of ranks of the job.
void watch(Joined &joined, int rank, RegisteredCommunicator::Kind kind) {
    if (joined.reach.watch != nullptr)
        joined.registration = std::make_unique<RegisteredCommunicator>(
            joined.reach, kind, rank, *joined.segment, joined.linked_peers.get());
}

Joined join_here(const Config &config, const Identity &me, const std::string &name) {
    const Error exhausted = engine::no_memory(transport::RankNames().of(me.rank));
    Patience patience(nullptr, config.waits.init_timeout_ns);
    const LocalSegment local = meet({config, me, name, patience});
    Segment &segment = *local.segment;
    try {
        segment.hold_life(me.rank);
        enter(config, me, local, patience);
        Joined joined{local.segment, nullptr};
        joined.deadline = patience.deadline();
        watch(joined, me.rank, RegisteredCommunicator::Kind::job);
        return joined;
    } catch (...) {
        segment.leave(me.rank);
        throw engine::post_exception(segment, me.rank, exhausted);
    }
}

// What is the same on all hosts.
transport::SegmentShape shape_of(const Segment &segment) {
    const transport::SegmentHeader &header = segment.header();
    transport::SegmentShape shape;
    shape.ranks = segment.ranks();
    shape.cores = header.cores;
    shape.ring_bytes = header.ring_bytes;
    shape.slice_bytes = header.slice_bytes;
    shape.heap_bytes = header.heap_bytes;
    shape.placement = segment.placement();
    return shape;
}

// Other ranks may have joined already, and will see that this one closes its connections: their
// agents hear why before that, or they would take it for dead.
void tell_agents(const Config &config, const Identity &me, Joined &joined, Mesh &mesh,
                 const Error &failure) noexcept {
    try {
        if (joined.reach.watch == nullptr && !mesh.control.empty())
            joined.reach.watch =
                std::make_shared<FailureDetector>(config, me.rank, std::move(mesh.control));
        if (joined.reach.watch != nullptr)
            joined.reach.watch->fail(joined.reach.epoch, failure);
    } catch (const std::exception &) { // no memory for an agent: they find this rank gone
    }
    joined.registration.reset();
    joined.reach.watch.reset();
}

Joined join_hosts(const Config &config, const Identity &me) {
    const Error exhausted = engine::no_memory(transport::RankNames().of(me.rank));
    Patience patience(nullptr, config.waits.init_timeout_ns);
    HostMeeting hosts(config, me, instance(me), patience);
    ParentContext origin;
    origin.watch = [&hosts] { hosts.watch(); };
    Segment &segment = *hosts.local().segment;
    Joined joined{hosts.local().segment, nullptr};
    joined.deadline = patience.deadline();
    Mesh mesh;
    try {
        segment.hold_life(me.rank);
        mesh = hosts.connect();
        if (hosts.reach().acceptor != nullptr)
            joined.linked_peers = remote_carrier(config, segment, me.rank, *mesh.data);
        joined.reach = hosts.reach();
        patience.watch_by(origin);
        enter(config, me, hosts.local(), patience);
        hosts.complete();
        if (joined.linked_peers != nullptr) {
            joined.reach.watch =
                std::make_shared<FailureDetector>(config, me.rank, std::move(mesh.control));
            joined.reach.job = std::make_shared<transport::SegmentShape>(shape_of(segment));
        }
        watch(joined, me.rank, RegisteredCommunicator::Kind::job);
        return joined;
    } catch (...) {
        const Error failure = engine::post_exception(segment, me.rank, exhausted);
        tell_agents(config, me, joined, mesh, failure);
        joined.linked_peers.reset();
        segment.leave(me.rank);
        hosts.failed(failure);
        throw failure;
    }
}

// A communicator that is made of another.  Who is on which host, and where, is known; first each
// rank connects with those on other hosts, then the ranks of each host meet.
Joined join_child(const Config &config, const Identity &me, const ParentContext &parent) {
    transport::RankNames names(parent.in_job);
    const Error exhausted = engine::no_memory(names.of(me.rank));
    Patience patience(&parent, config.waits.init_timeout_ns);
    const bool one_host = parent.placement().one_host();
    Mesh mesh;
    if (!one_host)
        mesh = connect_all(me, parent.reach, parent.shape.key, parent.placement(), Kinds::data,
                           parent.watch, patience);
    ChildSegment child({config, me, parent, patience});
    const std::shared_ptr<Segment> &segment = child.segment();
    segment->set_names(std::move(names));
    Joined joined{segment, nullptr, parent.reach};
    try {
        if (!one_host) {
            segment->open_rings(me.rank);
            joined.linked_peers = remote_carrier(config, *segment, me.rank, *mesh.data);
        }
        child.enter();
        watch(joined, me.rank, parent.kind);
        return joined;
    } catch (...) {
        const Error failure = engine::post_exception(*segment, me.rank, exhausted);
        joined.linked_peers.reset();
        segment->leave(me.rank);
        throw failure;
    }
}

} // namespace

void check(const Config &config) {
    if (!config.error.empty())
        throw Error(Status::argument, config.error);
    net::check_interface_filter(config.network.iface);
    (void)net::port_range(config.network.ports);
    net::check_congestion(config.network.congestion);
    check_transport(config.network.transport);
}

void check(const Config &config, const Identity &me) {
    try {
        check(config);
    } catch (const Error &error) {
        if (me.size == 1)
            throw;
        throw Error(error.status(), rank_here(me.rank) + ": " + error.what());
    }
}

Joined join(const Config &config, const Identity &me, const ParentContext *origin) {
    if (origin != nullptr)
        return join_child(config, me, *origin);
    if (!me.address.empty() && me.size > 1)
        return join_hosts(config, me);
    if (!config.network.fake_hosts.empty() && me.size > 1)
        throw Error(Status::argument,
                    "STRETTO_FAKE_HOSTS is '" + shown(config.network.fake_hosts) +
                        "', but the ranks have no address to meet at: start them by `stretto run`, "
                        "which chooses one, or set STRETTO_ADDR (as 127.0.0.1:29400) and "
                        "STRETTO_SECRET on all of them, or unset STRETTO_FAKE_HOSTS");
    return join_here(config, me,
                     (me.launch.empty() ? me.job : me.launch) + "-" + std::to_string(instance(me)));
}

} // namespace stretto::bootstrap
