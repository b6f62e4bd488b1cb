// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/local/child_segment.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/mix.hpp"
#include "bootstrap/cores.hpp"
#include "bootstrap/phrases.hpp"
#include "bootstrap/shape.hpp"
#include "engine/failure.hpp"
#include "transport/wait/naps.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

int lowest_here(const transport::Placement &placement) {
    int rank = 0;
    while (!placement.here(rank))
        ++rank;
    return rank;
}

transport::SegmentShape shape_of(const ChildMeeting &meeting) {
    const ParentContext &parent = meeting.parent;
    if (!parent.placement().one_host())
        return parent.shape;
    const transport::JobMemory &job = *parent.segment->memory();
    CoreSet cores;
    for (const int rank : parent.in_job)
        cores.add(job.rank(rank).cores);
    return shape_for(meeting.config, meeting.me.size, cores_worth(cores, job.header().quota),
                     &parent);
}

} // namespace

ChildSegment::ChildSegment(const ChildMeeting &meeting)
    : meeting_(meeting), name_(std::max<std::uint64_t>(1, mix(meeting.parent.place))),
      creator_(lowest_here(meeting.parent.placement())) {
    if (creator_ != meeting_.me.rank) {
        find();
        return;
    }
    const ParentContext &parent = meeting_.parent;
    const Error exhausted = engine::no_memory(transport::RankNames(parent.in_job).of(creator_));
    try {
        create();
    } catch (...) {
        if (parent.segment->failed()) // it shrinks: its failure is an earlier one
            throw;
        throw engine::post_exception(
            *parent.segment, parent.in_parent[static_cast<std::size_t>(creator_)], exhausted);
    }
    if (meeting_.me.size > 1)
        invite();
}

ChildSegment::~ChildSegment() {
    if (invitation_ != nullptr)
        transport::JobMemory::withdraw(*invitation_);
}

void ChildSegment::create() {
    const ParentContext &parent = meeting_.parent;
    transport::JobMemory &job = *parent.segment->memory();
    segment_ = Segment::create_in(parent.segment->memory(), shape_of(meeting_));
    const Segment &of = *parent.segment;
    if (job.header().fences.load(std::memory_order_relaxed) != 0)
        segment_->header().signals.fences.store(1, std::memory_order_relaxed);
    for (std::size_t rank = 0; rank < parent.in_parent.size(); ++rank)
        segment_->lines(static_cast<int>(rank))
            .cache.store(of.lines(parent.in_parent[rank]).cache.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
    hold_life(); // as long as it is invited to, the range cannot be freed
}

void ChildSegment::invite() {
    const ParentContext &parent = meeting_.parent;
    const int creator = parent.in_job[static_cast<std::size_t>(creator_)];
    for (transport::Naps naps; invitation_ == nullptr; naps.next()) {
        invitation_ = parent.segment->memory()->invite(creator, name_, segment_->first_byte());
        if (invitation_ != nullptr)
            return;
        meeting_.patience.watch();
        if (meeting_.patience.ended())
            throw Error(Status::timeout,
                        "after " + meeting_.patience.seconds() + " this rank still makes " +
                            std::to_string(transport::JobRank::kInvitations) +
                            " other communicators, the most at once, and the other ranks of none "
                            "of them have come; let its threads make communicators in the order "
                            "of the other ranks");
    }
}

void ChildSegment::find() {
    const ParentContext &parent = meeting_.parent;
    const std::shared_ptr<transport::JobMemory> &job = parent.segment->memory();
    const int creator = parent.in_job[static_cast<std::size_t>(creator_)];
    for (transport::Naps naps;; naps.next()) {
        if (const auto first = job->invited(creator, name_)) {
            segment_ = Segment::attach_in(job, *first, parent.placement());
            // The invitation may be of an earlier communicator of the same name, which this rank
            // has joined and the creator has not seen complete.  It is that of this one if this
            // rank has not joined, and if it still held after this rank has looked.
            if (segment_ != nullptr &&
                segment_->lines(meeting_.me.rank).joined.load(std::memory_order_acquire) == 0 &&
                job->invited(creator, name_) == first) {
                hold_life();
                return;
            }
            segment_ = nullptr;
        }
        meeting_.patience.watch();
        if (meeting_.patience.ended())
            throw too_late({creator_});
    }
}

void ChildSegment::hold_life() {
    const ParentContext &parent = meeting_.parent;
    const int rank = meeting_.me.rank;
    segment_->hold_life_as(rank,
                           parent.segment->lines(parent.in_parent[static_cast<std::size_t>(rank)]));
}

bool ChildSegment::absent(int rank) const {
    return segment_->here(rank) &&
           segment_->lines(rank).joined.load(std::memory_order_seq_cst) == 0;
}

bool ChildSegment::complete() const {
    for (int rank = 0; rank < meeting_.me.size; ++rank)
        if (absent(rank))
            return false;
    return true;
}

void ChildSegment::enter() {
    segment_->lines(meeting_.me.rank).joined.store(1, std::memory_order_seq_cst);
    for (transport::Naps naps; !complete(); naps.next()) {
        if (segment_->failed())
            throw segment_->failure();
        look_for_failures();
    }
}

// The creator gives up first; if it is stopped, the others give up a little later.
void ChildSegment::look_for_failures() {
    Patience &patience = meeting_.patience;
    std::optional<Error> found;
    try {
        patience.watch();
        if (creator_ == meeting_.me.rank ? patience.ended() : patience.ended_for_reports()) {
            std::vector<int> missing;
            for (int rank = 0; rank < meeting_.me.size; ++rank)
                if (absent(rank))
                    missing.push_back(rank);
            found = too_late(missing);
        }
    } catch (const Error &error) {
        found = error;
    }
    // A rank that is gone may have been through with this.
    if (found && !complete())
        segment_->fail(found->status(), found->what());
}

Error ChildSegment::too_late(const std::vector<int> &absent) const {
    return {Status::timeout, "after " + meeting_.patience.seconds() +
                                 " nothing was heard of rank(s)" + listed(absent) + " of " +
                                 meeting_.me.words() + "; all of its ranks must call " +
                                 meeting_.me.launcher};
}

} // namespace stretto::bootstrap
