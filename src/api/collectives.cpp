// SPDX-License-Identifier: BSD-3-Clause
// The C API: the blocking collectives.
#include "handles.hpp"

using stretto::schedule::Collective;
using namespace stretto::api;

namespace {

// `size`: one count, or a count for each rank.
template<class Size>
stretto_status play(stretto_comm comm, Collective collective, const void *send, void *recv,
                    Size size, int dtype, int op, int root = 0) {
    return guarded_in(comm, [&] {
        const auto go = [&](const stretto::reduce::Operation *made) {
            auto request = checked(comm, collective, send, recv, size, dtype, op, root, made);
            wait_unordered(comm, request);
            request.nonblocking = comm->mixed.load(std::memory_order_relaxed);
            comm->communicator.play(request);
        };
        if (op < STRETTO_OP_CREATED) [[likely]]
            go(nullptr);
        else
            go(created(op).get());
    });
}

} // namespace

extern "C" {

stretto_status stretto_allreduce(stretto_comm comm, const void *send, void *recv, size_t count,
                                 stretto_dtype dtype, stretto_op op) {
    return play(comm, Collective::allreduce, send, recv, count, dtype, op, 0);
}

stretto_status stretto_reduce(stretto_comm comm, const void *send, void *recv, size_t count,
                              stretto_dtype dtype, stretto_op op, int root) {
    return play(comm, Collective::reduce, send, recv, count, dtype, op, root);
}

stretto_status stretto_broadcast(stretto_comm comm, void *buffer, size_t count, stretto_dtype dtype,
                                 int root) {
    return play(comm, Collective::broadcast, STRETTO_IN_PLACE, buffer, count, dtype, 0, root);
}

stretto_status stretto_reduce_scatter(stretto_comm comm, const void *send, void *recv, size_t count,
                                      stretto_dtype dtype, stretto_op op) {
    return play(comm, Collective::reduce_scatter, send, recv, count, dtype, op, 0);
}

stretto_status stretto_allgather(stretto_comm comm, const void *send, void *recv, size_t count,
                                 stretto_dtype dtype) {
    return play(comm, Collective::allgather, send, recv, count, dtype, 0, 0);
}

stretto_status stretto_gather(stretto_comm comm, const void *send, void *recv, size_t count,
                              stretto_dtype dtype, int root) {
    return play(comm, Collective::gather, send, recv, count, dtype, 0, root);
}

stretto_status stretto_scatter(stretto_comm comm, const void *send, void *recv, size_t count,
                               stretto_dtype dtype, int root) {
    return play(comm, Collective::scatter, send, recv, count, dtype, 0, root);
}

stretto_status stretto_alltoall(stretto_comm comm, const void *send, void *recv, size_t count,
                                stretto_dtype dtype) {
    return play(comm, Collective::alltoall, send, recv, count, dtype, 0, 0);
}

stretto_status stretto_allgatherv(stretto_comm comm, const void *send, void *recv,
                                  const size_t counts[], stretto_dtype dtype) {
    return play(comm, Collective::allgather, send, recv, counts, dtype, 0);
}

stretto_status stretto_reduce_scatterv(stretto_comm comm, const void *send, void *recv,
                                       const size_t counts[], stretto_dtype dtype, stretto_op op) {
    return play(comm, Collective::reduce_scatter, send, recv, counts, dtype, op);
}

stretto_status stretto_barrier(stretto_comm comm) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        auto request = comm->communicator.barrier_request();
        request.nonblocking = comm->mixed.load(std::memory_order_relaxed);
        comm->communicator.play(request);
    });
}

} // extern "C"
