// SPDX-License-Identifier: BSD-3-Clause
// Joining a job whose ranks may be on several hosts.
#pragma once

#include <memory>
#include <string>

#include "bootstrap/join.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/network/connection_acceptor.hpp"
#include "bootstrap/network/mesh.hpp"
#include "bootstrap/network/node_leader.hpp"
#include "bootstrap/network/rendezvous.hpp"
#include "bootstrap/network/table.hpp"
#include "bootstrap/network/transports.hpp"

namespace stretto::bootstrap {

// Ranks share a host if they can hand one another memory, and only then: if they reach the same
// socket in the abstract namespace.  What happens, in order:
//
//   1. rank 0 opens the rendezvous at the address that all ranks know;
//   2. the ranks of each host elect a leader (local/local_segment.hpp), and each rank opens the
//      transports that it can use;
//   3. each leader names the ranks of its host to rank 0, and rank 0 sends it the address table;
//   4. each leader makes the segment of its host and hands it out, with the table;
//   5. ranks on different hosts connect with one another, by the transport that the table says;
//   6. when all have, rank 0 lets all begin.
class HostMeeting final : private OtherHosts {
public:
    // Steps 1 to 4.  `instance`: how often this rank has joined the job before.  The config
    // outlives this.
    HostMeeting(const Config &config, const Identity &me, int instance, Patience &patience);

    const LocalSegment &local() const { return local_; }
    // Connects to the others; empty if all are on this host.
    Mesh connect();
    // For communicators made of this one, once it is connected.
    const JobContext &reach() const { return reach_; }
    // Throws if a rank that this one waits for will not come.
    void watch();
    // All ranks of this host have joined: waits for the others.
    void complete();
    // Tells the others why this rank, and so its host, cannot join.
    void failed(const Error &error) noexcept;

private:
    void describe(RankRecord &mine) override;
    transport::Placement read(int table) override;
    void lead() override;
    void name(const RankRecord &rank) override { leader_->name(rank); }
    bool all_named() override;
    transport::SegmentShape shape() override;
    Descriptor table() override;
    void take_table(AddressTable table);

    const Config &config_;
    const Identity me_;
    Patience &patience_;
    net::Key key_;
    OpenTransports open_;                    // by which other hosts reach this rank
    std::unique_ptr<Rendezvous> rendezvous_; // rank 0
    std::unique_ptr<NodeLeader> leader_;     // one rank of each host
    AddressTable table_;
    transport::Placement placement_;
    LocalSegment local_;
    JobContext reach_;
};

} // namespace stretto::bootstrap
