// SPDX-License-Identifier: BSD-3-Clause
// Joining a job whose ranks may be on several hosts.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "bootstrap/join.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/network/connection_acceptor.hpp"
#include "bootstrap/network/mesh.hpp"
#include "bootstrap/network/node_leader.hpp"
#include "bootstrap/network/rendezvous.hpp"
#include "bootstrap/network/transports.hpp"

namespace stretto::bootstrap {

// Ranks share a host if they can hand one another memory, and only then: the first of those who
// reach the same socket in the abstract namespace makes the segment and speaks for all of them at
// the rendezvous.  What happens, in order:
//
//   1. rank 0 opens the rendezvous at the address that everybody knows;
//   2. each rank opens the transports that it can use, and finds out who speaks for its host;
//   3. who speaks names the ranks of the host to rank 0, and is told where all ranks are;
//   4. the segment of the host is made and handed out;
//   5. ranks on different hosts connect with one another, by the transport that the table says;
//   6. when all have, rank 0 lets all begin.
class HostMeeting {
public:
    // `instance`: how often this rank has joined the job before.  The config outlives this.
    HostMeeting(const Config &config, const Identity &me, int instance, Patience &patience);

    const LocalSegment &local() const { return local_; }
    // Connects to the others; empty if all are on this host.
    Mesh connect();
    // For communicators made of this one, once it is connected.
    const JobContext &reach() const { return reach_; }
    // Throws if somebody who is awaited will not come.
    void watch();
    // All ranks of this host have joined: waits for the others.
    void complete();
    // Tells the others why this rank, and so its host, cannot join.
    void failed(const Error &error) noexcept;

private:
    void take_table(const AddressTable &table);
    // local_discovery.cpp: the ranks of this host find one another, and where all are.
    void discover_local_ranks(int instance);
    void lead(Descriptor listener);
    void admit(Descriptor caller, std::span<const std::byte> greeting);
    bool follow_leader(Descriptor socket);
    void take_handed(int fd, Handed handed);
    void listen();
    void hand_out_table();
    RankRecord own_record() const;

    const Config &config_;
    const Identity me_;
    Patience &patience_;
    net::Key key_;
    OpenTransports open_;                    // by which other hosts reach this rank
    std::unique_ptr<Rendezvous> rendezvous_; // rank 0
    std::unique_ptr<NodeLeader> leader_;     // one rank of each host
    CoreSet cores_;                          // of all ranks of this host so far
    AddressTable table_;
    transport::Placement placement_;
    LocalSegment local_;
    JobContext reach_;
};

} // namespace stretto::bootstrap
