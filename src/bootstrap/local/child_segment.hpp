// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one host come to share memory for a communicator that is made of another.
//
// They share the memory of their job already (transport/shm/job_memory.hpp), so they need neither
// sockets nor descriptors:
//
//   1. The lowest of them, the creator, takes a range of that memory for the segment, and invites
//      the others to it by a name that all of them know.  It waits for none of them.
//   2. The others look at the creator's invitations until they find that name, and map the range.
//   3. Each rank says in the segment that it has joined, and waits until all have.
//
// What they know of one another, such as the cores that each may use, is from the start of the job.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bootstrap/join.hpp"
#include "bootstrap/patience.hpp"

namespace stretto::bootstrap {

struct ChildMeeting {
    const Config &config;
    const Identity &me;
    const ParentContext &parent;
    Patience &patience;
};

class ChildSegment {
public:
    // Steps 1 and 2.  Throws Error(memory), Error(timeout) if the creator does not come in time,
    // and what the parent's watch throws.  If the creator cannot create the segment, the parent
    // fails with that error, which ends the wait of the others.
    explicit ChildSegment(const ChildMeeting &meeting);
    ~ChildSegment();
    ChildSegment(const ChildSegment &) = delete;
    ChildSegment &operator=(const ChildSegment &) = delete;

    const std::shared_ptr<transport::Segment> &segment() const { return segment_; }
    // Step 3.  Throws the failure of the segment; Error(timeout) names the ranks that did not come.
    void enter();

private:
    void create();
    void invite();
    void find();
    void hold_life();
    bool absent(int rank) const;
    bool complete() const;
    void look_for_failures();
    Error too_late(const std::vector<int> &absent) const;

    const ChildMeeting meeting_;
    const std::uint64_t name_;
    const int creator_;
    std::shared_ptr<transport::Segment> segment_;
    transport::Invitation *invitation_ = nullptr; // of the creator
};

} // namespace stretto::bootstrap
