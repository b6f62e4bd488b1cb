// SPDX-License-Identifier: BSD-3-Clause
// A call of any collective as data, and the function of stretto.h that makes it.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/contract.hpp"
#include "stretto/stretto.h"

namespace test {

using stretto::schedule::Collective;

struct Call {
    Collective collective = Collective::allreduce;
    std::size_t count = 0;           // of the whole vector, or of a rank's part of it
    std::vector<std::size_t> counts; // of the parts, where they differ
    stretto_dtype dtype = STRETTO_FLOAT32;
    stretto_op op = STRETTO_SUM;
    int root = 0;
    bool in_place = false; // where there is a choice
    bool shared = false;   // buffers in the shared heap
    bool nonblocking = false;
    std::size_t send_offset = 0, recv_offset = 0; // bytes from a cache line; may differ by rank
    std::size_t salt = 0; // other data: no call must find its answer in what an earlier one left
};

// Has a form with a count for each rank.
inline bool takes_counts(Collective collective) {
    return collective == Collective::allgather || collective == Collective::reduce_scatter;
}

inline stretto_status start(stretto_comm comm, const Call &call, const void *send, void *recv,
                            stretto_request *request) {
    const auto [collective, count, counts, dtype, op, root, place, shared, later, at, to, salt] =
        call;
    switch (collective) {
    case Collective::reduce:
        return stretto_ireduce(comm, send, recv, count, dtype, op, root, request);
    case Collective::broadcast: return stretto_ibroadcast(comm, recv, count, dtype, root, request);
    case Collective::reduce_scatter:
        return counts.empty()
                   ? stretto_ireduce_scatter(comm, send, recv, count, dtype, op, request)
                   : stretto_ireduce_scatterv(comm, send, recv, counts.data(), dtype, op, request);
    case Collective::allgather:
        return counts.empty()
                   ? stretto_iallgather(comm, send, recv, count, dtype, request)
                   : stretto_iallgatherv(comm, send, recv, counts.data(), dtype, request);
    case Collective::gather: return stretto_igather(comm, send, recv, count, dtype, root, request);
    case Collective::scatter:
        return stretto_iscatter(comm, send, recv, count, dtype, root, request);
    case Collective::alltoall: return stretto_ialltoall(comm, send, recv, count, dtype, request);
    case Collective::barrier: return stretto_ibarrier(comm, request);
    default: return stretto_iallreduce(comm, send, recv, count, dtype, op, request);
    }
}

inline stretto_status run(stretto_comm comm, const Call &call, const void *send, void *recv) {
    if (call.nonblocking) {
        stretto_request request = nullptr;
        const stretto_status status = start(comm, call, send, recv, &request);
        return status == STRETTO_OK ? stretto_wait(&request) : status;
    }
    const auto [collective, count, counts, dtype, op, root, place, shared, later, at, to, salt] =
        call;
    switch (collective) {
    case Collective::reduce: return stretto_reduce(comm, send, recv, count, dtype, op, root);
    case Collective::broadcast: return stretto_broadcast(comm, recv, count, dtype, root);
    case Collective::reduce_scatter:
        return counts.empty() ? stretto_reduce_scatter(comm, send, recv, count, dtype, op)
                              : stretto_reduce_scatterv(comm, send, recv, counts.data(), dtype, op);
    case Collective::allgather:
        return counts.empty() ? stretto_allgather(comm, send, recv, count, dtype)
                              : stretto_allgatherv(comm, send, recv, counts.data(), dtype);
    case Collective::gather: return stretto_gather(comm, send, recv, count, dtype, root);
    case Collective::scatter: return stretto_scatter(comm, send, recv, count, dtype, root);
    case Collective::alltoall: return stretto_alltoall(comm, send, recv, count, dtype);
    case Collective::barrier: return stretto_barrier(comm);
    default: return stretto_allreduce(comm, send, recv, count, dtype, op);
    }
}

} // namespace test
