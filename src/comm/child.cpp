// SPDX-License-Identifier: BSD-3-Clause
#include "comm/child.hpp"

#include <algorithm>
#include <cstdint>

namespace stretto::comm {

namespace {

// The placement of these ranks of the job, as the rank at index `own` sees it.
transport::Placement placement(const transport::Placement &job, const std::vector<int> &ranks,
                               std::size_t own) {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(job.hosts()), -1), host_of;
    std::int32_t next = 0;
    for (const int rank : ranks) {
        std::int32_t &number = numbers[static_cast<std::size_t>(job.host_of(rank))];
        if (number < 0)
            number = next++;
        host_of.push_back(number);
    }
    const std::int32_t here = host_of[own];
    return transport::Placement(std::move(host_of), here);
}

// How many cores a single host would need to have as many cores for each of these ranks as the most
// crowded of their hosts has.  There each rank keeps its share of what the job's ranks have.
unsigned cores(const transport::SegmentShape &job, const std::vector<int> &ranks) {
    std::vector<int> before(static_cast<std::size_t>(job.placement.hosts())), now = before;
    for (int rank = 0; rank < job.ranks; ++rank)
        ++before[static_cast<std::size_t>(job.placement.host_of(rank))];
    for (const int rank : ranks)
        ++now[static_cast<std::size_t>(job.placement.host_of(rank))];
    double each = 1; // cores for each rank
    for (std::size_t host = 0; host < now.size(); ++host)
        if (now[host] != 0)
            each = std::min(each,
                            static_cast<double>(job.cores) / job.ranks * before[host] / now[host]);
    return std::max(1u, static_cast<unsigned>(each * static_cast<double>(ranks.size())));
}

// For a job with ranks on several hosts; the child may be on one.  All of this depends only on the
// job and on the list of the child's ranks, so it is the same on all of them.
void place_on_hosts(const bootstrap::JobContext &parents, Child &child) {
    bootstrap::ParentContext &origin = child.origin;
    origin.reach = parents;
    origin.reach.ranks.clear();
    for (const int rank : child.ranks)
        origin.reach.ranks.push_back(parents.ranks[static_cast<std::size_t>(rank)]);
    const std::vector<int> &ranks = origin.reach.ranks;
    const transport::SegmentShape &job = *parents.job;
    const transport::Placement seen =
        placement(job.placement, ranks, static_cast<std::size_t>(child.identity.rank));
    if (!seen.one_host()) {
        origin.shape = job;
        origin.shape.ranks = child.identity.size;
        origin.shape.cores = cores(job, ranks);
        origin.shape.key = parents.acceptor->epoch_named(origin.place);
        origin.shape.placement = seen;
    }
    // With STRETTO_FAKE_HOSTS several hosts are on one machine: each needs a segment of its own.
    std::size_t first = 0;
    while (!seen.here(static_cast<int>(first)))
        ++first;
    origin.place += " at rank " + std::to_string(ranks[first]);
}

} // namespace

Child child_of(const Communicator &parent, std::vector<int> ranks, const std::string &name,
               const std::string &place, const std::string &call) {
    Child child;
    child.identity.rank =
        static_cast<int>(std::find(ranks.begin(), ranks.end(), parent.rank()) - ranks.begin());
    child.identity.size = static_cast<int>(ranks.size());
    child.identity.job = name + " of " + parent.identity().job;
    child.identity.called = "'" + name + "' of " + parent.identity().words();
    child.identity.launcher = call;
    child.origin.place = place;
    child.origin.segment = parent.segment();
    child.origin.in_parent = ranks;
    child.origin.trace = parent.trace().buffer();
    child.origin.call_log = parent.report().log();
    child.origin.profile = parent.calls().selection.profile();
    for (const int rank : ranks)
        child.origin.in_job.push_back(parent.segment()->names().in_job(rank));
    child.ranks = std::move(ranks);
    if (parent.reach().acceptor != nullptr)
        place_on_hosts(parent.reach(), child);
    return child;
}

} // namespace stretto::comm
