// SPDX-License-Identifier: BSD-3-Clause
// Remote transports, which bring packets to ranks of other hosts, and their factories.
//
// A job opens every transport that a rank can use, before it knows the other ranks.  Each rank's
// endpoint addresses go into the table that all ranks get, and by that table all of them choose the
// same transport (bootstrap/network/transports.hpp).  Every communicator of the job is connected by
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "net/address.hpp"
#include "net/crypto.hpp"
#include "transport/remote/links.hpp"
#include "transport/shm/placement.hpp"
#include "transport/shm/segment.hpp"
#include "transport/wait/events.hpp"

namespace stretto::transport {

// Some ranks of a job: those of a communicator.
struct Group {
    int rank = 0;             // this one, in the communicator
    std::vector<int> in_job;  // the rank in the job, by rank of the communicator
    Placement placement;      // ranks that are here need no link
    std::uint64_t epoch = 0;  // the communicator's key, which no other has
    std::size_t at_once = 16; // how many connections a rank opens at a time
};

// The links of a group while they are being made.  All ranks of the group make them at about the
// same time.
class Connecting {
public:
    virtual ~Connecting() = default;
    // Progresses as far as it can without waiting.  Throws Error if the links cannot be made.
    virtual void progress() = 0;
    virtual bool complete() const = 0;
    // Adds the descriptors that show when to call progress() again; the caller also does so every
    // few milliseconds.
    virtual void waits_for(std::vector<pollfd> &descriptors) const = 0;
    // Throws Error if this rank knows that the links cannot be completed, and why.  `over`: the
    // time for them is over.
    virtual void check(bool over) { (void)over; }
    // The links that this rank lacks: "to rank(s) 1 at 10.0.0.2:29401 (refused); from rank(s) 3",
    // and the likely cause, as a question or as a remedy.
    virtual std::string lacks() const = 0;
    virtual std::string remedy() const = 0;
    // Once, when they are complete.  `events` and `segment` outlive the links; the links keep what
    // they need of this and of the transport.  Rings, mirrors and mailboxes are memory of the
    // segment, which a transport that has to register memory registers here.  Packets are also sent
    // from and received into other memory, mainly pools, which a transport sees only with the
    // packets.
    virtual std::unique_ptr<Links> links(EventSet &events, Segment &segment) = 0;
};

// An open transport of one rank of a job.
class RemoteTransport {
public:
    virtual ~RemoteTransport() = default;
    // The bytes of this rank's endpoint address.
    virtual std::vector<std::byte> address() const = 0;
    // All ranks are known: the bytes of their endpoint addresses, by rank of the job.  `lanes`: how
    // many connections for data rank 0 wants between two ranks, if that means anything here.
    virtual void meet(std::vector<std::vector<std::byte>> addresses, int lanes) = 0;
    // Called by any thread, after meet().
    virtual std::unique_ptr<Connecting> connect(const Group &group) = 0;
};

// The rank for which a transport is opened.
struct Opening {
    int rank = 0, size = 1; // of the job
    net::Key key; // of the job: a process that proves that it knows the key is a rank of the job
    std::uint16_t
        meeting_port;        // the port at which rank 0 waits for the others; no other rank uses it
    Config::Network network; // the rank's settings
};

// The path between a node leader and rank 0, as the node leader sees it.
struct Way {
    net::Address own, rank_0;
};

class TransportFactory {
public:
    virtual ~TransportFactory() = default;
    virtual std::string_view name() const = 0; // endpoint.hpp: is_transport_name()
    virtual std::uint16_t version() const = 0; // of its endpoint addresses
    // Why this rank of a job cannot use it on this host, or by STRETTO_TRANSPORT=auto should not,
    // and what to do about it; "" if it can.
    virtual std::string missing(const Opening &opening) const = 0;
    // Throws Error if it turns out only now that the rank cannot use it.
    virtual std::unique_ptr<RemoteTransport> open(const Opening &opening) const = 0;
    // Whether these are the bytes of an address of this version.
    virtual bool is_address(std::span<const std::byte> bytes) const = 0;
    // A node leader calls this for each rank of its host before it sends the addresses to rank 0:
    // now it knows by which path other hosts reach its host.
    virtual void complete(std::vector<std::byte> &address, const Way &way) const {
        (void)address, (void)way;
    }
    // A node leader calls this for each rank of the job when it has received the addresses: an
    // address that is right on rank 0's host may have to be another one here.
    virtual void adapt(std::vector<std::byte> &address, const Way &way) const {
        (void)address, (void)way;
    }
};

} // namespace stretto::transport
