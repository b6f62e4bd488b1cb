// SPDX-License-Identifier: BSD-3-Clause
// The C API: the nonblocking and the persistent collectives; requests.cpp waits for them.
#include <memory>

#include "handles.hpp"

using stretto::calls::Request;
using stretto::schedule::Collective;
using namespace stretto::api;

namespace {

enum class Kind { nonblocking, persistent };

stretto_request start(stretto_comm comm, const Request &what, Kind kind,
                      const OperationPointer &operation = nullptr) {
    return launch(comm, [&](stretto_request_s &made) {
        made.request = what;
        made.request.nonblocking = true;
        made.persistent = kind == Kind::persistent;
        made.operation = operation;
        if (made.persistent)
            comm->communicator.prepare(made.request);
        else
            start_call(comm, made);
    });
}

// Returns the request that `body` makes.
template<class Body>
stretto_status make(stretto_comm comm, stretto_request *request, Body &&body) {
    return guarded_in(comm, [&] { give(comm, request, body); });
}

// `size`: one count, or a count for each rank.
template<class Size>
stretto_status start(stretto_comm comm, stretto_request *request, Collective collective,
                     const void *send, void *recv, Size size, int dtype, int op, int root = 0) {
    return make(comm, request, [&] {
        const OperationPointer operation = created_or_null(op);
        return start(comm,
                     checked(comm, collective, send, recv, size, dtype, op, root, operation.get()),
                     Kind::nonblocking, operation);
    });
}

} // namespace

extern "C" {

stretto_status stretto_iallreduce(stretto_comm comm, const void *send, void *recv, size_t count,
                                  stretto_dtype dtype, stretto_op op, stretto_request *request) {
    return start(comm, request, Collective::allreduce, send, recv, count, dtype, op, 0);
}

stretto_status stretto_ireduce(stretto_comm comm, const void *send, void *recv, size_t count,
                               stretto_dtype dtype, stretto_op op, int root,
                               stretto_request *request) {
    return start(comm, request, Collective::reduce, send, recv, count, dtype, op, root);
}

stretto_status stretto_ibroadcast(stretto_comm comm, void *buffer, size_t count,
                                  stretto_dtype dtype, int root, stretto_request *request) {
    return start(comm, request, Collective::broadcast, STRETTO_IN_PLACE, buffer, count, dtype, 0,
                 root);
}

stretto_status stretto_ireduce_scatter(stretto_comm comm, const void *send, void *recv,
                                       size_t count, stretto_dtype dtype, stretto_op op,
                                       stretto_request *request) {
    return start(comm, request, Collective::reduce_scatter, send, recv, count, dtype, op, 0);
}

stretto_status stretto_iallgather(stretto_comm comm, const void *send, void *recv, size_t count,
                                  stretto_dtype dtype, stretto_request *request) {
    return start(comm, request, Collective::allgather, send, recv, count, dtype, 0, 0);
}

stretto_status stretto_igather(stretto_comm comm, const void *send, void *recv, size_t count,
                               stretto_dtype dtype, int root, stretto_request *request) {
    return start(comm, request, Collective::gather, send, recv, count, dtype, 0, root);
}

stretto_status stretto_iscatter(stretto_comm comm, const void *send, void *recv, size_t count,
                                stretto_dtype dtype, int root, stretto_request *request) {
    return start(comm, request, Collective::scatter, send, recv, count, dtype, 0, root);
}

stretto_status stretto_ialltoall(stretto_comm comm, const void *send, void *recv, size_t count,
                                 stretto_dtype dtype, stretto_request *request) {
    return start(comm, request, Collective::alltoall, send, recv, count, dtype, 0, 0);
}

stretto_status stretto_iallgatherv(stretto_comm comm, const void *send, void *recv,
                                   const size_t counts[], stretto_dtype dtype,
                                   stretto_request *request) {
    return start(comm, request, Collective::allgather, send, recv, counts, dtype, 0);
}

stretto_status stretto_ireduce_scatterv(stretto_comm comm, const void *send, void *recv,
                                        const size_t counts[], stretto_dtype dtype, stretto_op op,
                                        stretto_request *request) {
    return start(comm, request, Collective::reduce_scatter, send, recv, counts, dtype, op);
}

stretto_status stretto_ibarrier(stretto_comm comm, stretto_request *request) {
    return make(comm, request, [&] {
        require(comm != nullptr, "the communicator is NULL");
        return start(comm, comm->communicator.barrier_request(), Kind::nonblocking);
    });
}

stretto_status stretto_allreduce_init(stretto_comm comm, const void *send, void *recv, size_t count,
                                      stretto_dtype dtype, stretto_op op,
                                      stretto_request *request) {
    return make(comm, request, [&] {
        require(request != nullptr, "the place for the request is NULL");
        const OperationPointer operation = created_or_null(op);
        return start(
            comm,
            checked(comm, Collective::allreduce, send, recv, count, dtype, op, 0, operation.get()),
            Kind::persistent, operation);
    });
}

} // extern "C"
