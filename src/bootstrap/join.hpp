// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a job find one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "arrival/call_log.hpp"
#include "base/config.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/network/failure_detector.hpp"
#include "bootstrap/network/job_context.hpp"
#include "select/profile.hpp"
#include "trace/buffer.hpp"
#include "transport/remote/linked_peers.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::bootstrap {

// What is special about joining a communicator that is made of another.
struct ParentContext {
    std::string place; // where its ranks meet: derived from what they all know
    std::shared_ptr<transport::Segment> segment = nullptr; // of the parent
    std::vector<int> in_parent = {}; // the rank in the parent, by rank of this communicator
    std::vector<int> in_job = {};    // the rank in the job
    // Throws if a rank that this one waits for will not come.
    std::function<void()> watch;
    JobContext reach = {};
    RegisteredCommunicator::Kind kind = RegisteredCommunicator::Kind::child;
    // If its ranks are on several hosts.
    transport::SegmentShape shape = {};
    // Of this rank, if they are wanted.
    std::shared_ptr<trace::Buffer> trace = nullptr;
    std::shared_ptr<arrival::CallLog> call_log = nullptr;

    select::Profile profile = {}; // of the network, as its parent knows it

    // What the ranks of a host share; all of them, if there are no others.
    const transport::Placement &placement() const { return shape.placement; }
};

// What a rank has when it has joined.
struct Joined {
    std::shared_ptr<transport::Segment> segment;
    std::unique_ptr<transport::LinkedPeers> linked_peers; // null if all ranks are on one host
    JobContext reach = {};
    std::unique_ptr<RegisteredCommunicator> registration =
        nullptr;                         // null if the job is on one host
    std::uint64_t deadline = UINT64_MAX; // of now_ns(): when the start is to be over
};

// The ranks of a host meet over a Unix socket in the abstract namespace, which leaves no file
// behind; only processes of the same user are let in (local/local_segment.hpp).  With an address in
// `me` the ranks may be on several hosts (network/host_meeting.hpp).  The ranks of a communicator
// that is made of another meet in the memory of their job (local/child_segment.hpp).  Returns when
// all ranks have joined.  Throws Error(timeout) naming the ranks that have not come within
// STRETTO_INIT_TIMEOUT, Error(mismatch) if ranks disagree on the size of the job, and what the
// origin's watch throws.
Joined join(const Config &config, const Identity &me, const ParentContext *origin = nullptr);

// Throws Error(argument) if a setting of this process makes no sense, used or not.  join() does
// this at a moment at which the error reaches the other ranks, which would wait for this one.
void check(const Config &config);
// The same; in a job of several ranks the error names this rank.
void check(const Config &config, const Identity &me);

} // namespace stretto::bootstrap
