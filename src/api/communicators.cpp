// SPDX-License-Identifier: BSD-3-Clause
// The C API: communicators made of others.
#include "comm/family.hpp"
#include "comm/shrink.hpp"
#include "handles.hpp"

using stretto::Status;
using stretto::comm::Child;
using namespace stretto::api;

namespace {

static_assert(STRETTO_UNDEFINED == stretto::comm::kNoColor);

std::unique_ptr<stretto_comm_s> make(const stretto_comm_s &parent, const Child &child) {
    auto made = std::make_unique<stretto_comm_s>(parent.read, child.identity, &child.origin);
    made->communicator.await_members(child.origin);
    made->communicator.calls().policies.inherit(parent.communicator.calls().policies,
                                                child.same_policy);
    inherit_note(made.get(), parent, stretto::Setting::reproducible);
    if (child.same_policy)
        inherit_note(made.get(), parent, stretto::Setting::algorithm);
    made->parent_ranks = child.ranks;
    return made;
}

stretto_comm join(stretto_comm parent, const Child &child) {
    try {
        return make(*parent, child).release();
    } catch (const std::bad_alloc &) { // the other members find that this one has left
        parent->communicator.fail_together(false);
    } catch (const stretto::Error &error) {
        // Ranks on other hosts cannot learn of the error through the child, which does not exist
        // yet.
        const bool only_here = error.status() == Status::memory || error.status() == Status::system;
        if (!child.origin.placement().one_host() && only_here)
            parent->communicator.fail_together(false);
        throw;
    }
}

void check(stretto_comm comm, stretto_comm *result) {
    require(comm != nullptr, "the communicator is NULL");
    require(result != nullptr, "the place for the new communicator is NULL");
    *result = nullptr;
}

} // namespace

extern "C" {

stretto_status stretto_comm_split(stretto_comm comm, int color, int key, stretto_comm *result) {
    return guarded_in(comm, [&] {
        check(comm, result);
        require(color >= 0 || color == STRETTO_UNDEFINED,
                "a color is not negative, or is STRETTO_UNDEFINED");
        if (const auto child = stretto::comm::split(comm->communicator, color, key))
            *result = join(comm, *child);
    });
}

stretto_status stretto_comm_dup(stretto_comm comm, stretto_comm *result) {
    return guarded_in(comm, [&] {
        check(comm, result);
        *result = join(comm, stretto::comm::duplicate(comm->communicator));
    });
}

stretto_status stretto_comm_create(stretto_comm comm, const int ranks[], int count, int tag,
                                   stretto_comm *result) {
    return guarded_in(comm, [&] {
        check(comm, result);
        require(ranks != nullptr && count > 0, "the list of ranks is empty");
        require(tag >= 0, "a tag lies in 0 ... INT_MAX");
        *result = join(comm, stretto::comm::group(comm->communicator,
                                                  {ranks, static_cast<std::size_t>(count)}, tag));
    });
}

stretto_status stretto_comm_abort(stretto_comm comm, const char *reason) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        const stretto::comm::Communicator &communicator = comm->communicator;
        stretto::transport::Segment &segment = *communicator.segment();
        segment.fail(Status::aborted,
                     segment.names().of(communicator.rank()) + " aborted the communicator: " +
                         (reason == nullptr ? "it gave no reason" : reason) +
                         " (stretto_comm_abort; go on with stretto_comm_shrink, or end the job)");
    });
}

stretto_status stretto_comm_shrink(stretto_comm comm, uint64_t *completed, stretto_comm *result) {
    return guarded_in(comm, [&] {
        check(comm, result);
        require(
            !comm->shrunk,
            "the communicator has shrunk already; use the communicator that the shrink returned");
        std::unique_ptr<stretto_comm_s> made;
        const std::uint64_t calls =
            stretto::comm::shrink(comm->communicator, [&](const Child &child) {
                made.reset();
                made = make(*comm, child);
            });
        comm->shrunk = true;
        if (completed != nullptr)
            *completed = calls;
        *result = made.release();
    });
}

int stretto_comm_parent_rank(stretto_comm comm, int rank) {
    if (comm == nullptr)
        return -1;
    const std::vector<int> &ranks = comm->parent_ranks;
    const auto index = static_cast<std::size_t>(rank);
    return rank >= 0 && index < ranks.size() ? ranks[index] : -1;
}

} // extern "C"
