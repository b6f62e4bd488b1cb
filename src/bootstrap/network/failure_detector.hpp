// SPDX-License-Identifier: BSD-3-Clause
// Who looks after the other ranks of a job on several hosts: the control agent of a rank, tied to
// all communicators that this rank has of the job.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arrival/decision_service.hpp"
#include "arrival/tcp_prewarm.hpp"
#include "base/config.hpp"
#include "base/status.hpp"
#include "bootstrap/network/agent_decisions.hpp"
#include "bootstrap/network/job_context.hpp"
#include "bootstrap/network/mesh.hpp"
#include "membership/agent.hpp"
#include "membership/net_links.hpp"
#include "transport/remote/linked_peers.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::bootstrap {

class RegisteredCommunicator;

// A rank of the job that dies or falls silent becomes the failure of all its communicators, on
// every host, also for ranks that never talk to it.  So does a failure that any rank posts on the
// job's own communicator; those of communicators made of it stay theirs.  While the rank computes,
// the agent's thread takes in what comes for it, so that ranks that inquire are answered.  That
// thread compiles and prices nothing (agent_decisions.hpp).
class FailureDetector {
public:
    // `rank` of the job; the connections are those to its other ranks.
    FailureDetector(const Config &config, int rank, Connections connections);
    // Takes leave of the other ranks, which know by then if the job has failed.
    ~FailureDetector();
    FailureDetector(const FailureDetector &) = delete;
    FailureDetector &operator=(const FailureDetector &) = delete;

    // Why the epoch is over, if it is.
    std::optional<Error> ended(std::uint32_t epoch) const;
    // Ends the epoch, for all, unless it is over.
    void fail(std::uint32_t epoch, const Error &failure);
    // Ends the epoch and agrees with the other ranks on which ranks are left for the next.  Throws
    // Error(excluded) if the ranks that this one hears are no majority, or went on without it.
    // patience_ns: how long it waits for a rank that lives and does not call (0: for ever).
    membership::View shrink(std::uint32_t epoch, const Error &failure, std::uint64_t completed,
                            std::uint64_t patience_ns);

    // What its agent's ranks decide together.
    arrival::DecisionService &decisions() { return decisions_; }

private:
    friend class RegisteredCommunicator;

    void add(RegisteredCommunicator &registration);
    void remove(RegisteredCommunicator &registration);
    void revoked(std::uint32_t epoch, const membership::Reason &reason);
    void lost(int rank);
    void round();

    const int rank_;
    membership::NetLinks links_;
    AgentDecisions decisions_;
    std::mutex mutex_; // guards the registered communicators
    std::vector<RegisteredCommunicator *>
        registered_; // agents are told of a failure with it: it is taken before theirs
    std::unique_ptr<membership::Agent> agent_; // last: its thread uses all of the above
};

// A communicator under watch, as long as this lives.
class RegisteredCommunicator {
public:
    enum class Kind {
        job,   // its failures are the job's
        child, // what fails in it is its own affair
    };
    // The segment and the carrier, which is null if all of its ranks are on one host, outlive it;
    // `rank` of the communicator.
    RegisteredCommunicator(const JobContext &reach, Kind kind, int rank,
                           transport::Segment &segment, transport::LinkedPeers *linked_peers);
    ~RegisteredCommunicator();
    RegisteredCommunicator(const RegisteredCommunicator &) = delete;
    RegisteredCommunicator &operator=(const RegisteredCommunicator &) = delete;

    // The ranks to which this rank's agent sends bytes that only keep a connection warm, when they
    // are due or when it comes round next (LinkedPeers::warm).  It may outlive this.
    const std::shared_ptr<arrival::TcpPrewarm> &warming() const { return warming_; }

private:
    friend class FailureDetector;

    // No failure detector knows it yet.
    RegisteredCommunicator(const JobContext &reach, int rank, transport::Segment &segment,
                           transport::LinkedPeers *linked_peers);

    void fail(const membership::Reason &reason);
    void lose(int rank);
    void carry();
    int rank_of(int job_rank) const; // in the communicator, or kNoRank
    bool renumbered() const;

    const std::shared_ptr<FailureDetector> watch_;
    const std::uint32_t epoch_;
    const std::vector<int> ranks_; // of the job
    const int rank_;
    const Error exhausted_;
    transport::Segment &segment_;
    transport::LinkedPeers *const linked_peers_;
    const std::shared_ptr<arrival::TcpPrewarm> warming_;
};

} // namespace stretto::bootstrap
