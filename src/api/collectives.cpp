// SPDX-License-Identifier: BSD-3-Clause
// The C API: the collectives.  Arguments are checked here.
#include <cstdint>
#include <memory>
#include <string>

#include "base/types.hpp"
#include "handles.hpp"

using stretto::Dtype;
using stretto::ReduceOp;
using stretto::comm::Request;
using stretto::reduce::Operation;
using stretto::schedule::Collective;
using namespace stretto::api;

namespace {

bool reduces(Collective collective) {
    return collective == Collective::allreduce || collective == Collective::reduce ||
           collective == Collective::reduce_scatter;
}

} // namespace

Request stretto::api::checked(stretto_comm comm, Collective collective, const void *send,
                              void *recv, std::size_t count, int dtype, int op, int root,
                              const Operation *made) {
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    const Dtype type = dtype_of(dtype);
    require(made != nullptr || (op >= 0 && op < stretto::kBuiltInOps),
            "unknown op; see stretto_op in stretto.h");
    const ReduceOp kind = made != nullptr ? made->kind : static_cast<ReduceOp>(op);
    if ((stretto::kSupportedOps[static_cast<std::size_t>(dtype)] >> static_cast<int>(kind) & 1) ==
            0 &&
        reduces(collective)) [[unlikely]]
        require_pair(type, kind);
    const int size = comm->communicator.size();
    require(root >= 0 && root < size, "root is not a rank of the communicator");
    const std::size_t parts = static_cast<std::size_t>(size);
    require(count <= SIZE_MAX / 16 / parts, "count is too large for the address space");
    const bool significant = collective != Collective::reduce || root == comm->communicator.rank();
    require(count == 0 || recv != nullptr || !significant, "the receive buffer is NULL");
    require(count == 0 || send != nullptr, "the send buffer is NULL; STRETTO_IN_PLACE?");
    if (send == STRETTO_IN_PLACE) {
        require(significant, "STRETTO_IN_PLACE is for the root of a reduce only");
        send = nullptr;
    } else {
        require(count == 0 || send != recv || collective == Collective::broadcast,
                "send and receive buffer are the same; pass STRETTO_IN_PLACE to say so");
    }
    Request request{collective, send, recv, count, type, kind, root};
    if (made != nullptr) [[unlikely]] {
        if (kind == ReduceOp::premul_sum && made->dtype != type)
            throw stretto::Error(stretto::Status::argument, "the scalar of this premul_sum is a " +
                                                                std::string(name(made->dtype)) +
                                                                ", the elements are " +
                                                                std::string(name(type)));
        request.operation = made;
        request.operation_number = static_cast<std::uint32_t>(op);
    }
    return request;
}

namespace {

stretto_status play(stretto_comm comm, Collective collective, const void *send, void *recv,
                    std::size_t count, int dtype, int op, int root) {
    return guarded([&] {
        const auto go = [&](const Operation *made) {
            comm->communicator.play(
                checked(comm, collective, send, recv, count, dtype, op, root, made));
        };
        if (op < STRETTO_OP_CREATED) [[likely]]
            go(nullptr);
        else
            go(created(op).get());
    });
}

stretto_status make_request(stretto_comm comm, stretto_request *request, bool persistent,
                            Collective collective, const void *send, void *recv, std::size_t count,
                            int dtype, int op, int root) {
    return guarded([&] {
        require(request != nullptr, "the place for the request is NULL");
        *request = nullptr;
        const OperationPointer operation = created_or_null(op);
        const Request what =
            checked(comm, collective, send, recv, count, dtype, op, root, operation.get());
        auto made =
            std::make_unique<stretto_request_s>(stretto_request_s{comm, what, persistent, nullptr});
        made->operation = operation;
        if (!persistent)
            made->flight = comm->communicator.start(what);
        else
            (void)comm->communicator.chosen(what); // plans now, so that starting costs nothing
        *request = keep(std::move(made));
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

stretto_status stretto_barrier(stretto_comm comm) {
    return guarded([&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->communicator.barrier();
    });
}

stretto_status stretto_iallreduce(stretto_comm comm, const void *send, void *recv, size_t count,
                                  stretto_dtype dtype, stretto_op op, stretto_request *request) {
    return make_request(comm, request, false, Collective::allreduce, send, recv, count, dtype, op,
                        0);
}

stretto_status stretto_ireduce(stretto_comm comm, const void *send, void *recv, size_t count,
                               stretto_dtype dtype, stretto_op op, int root,
                               stretto_request *request) {
    return make_request(comm, request, false, Collective::reduce, send, recv, count, dtype, op,
                        root);
}

stretto_status stretto_ibroadcast(stretto_comm comm, void *buffer, size_t count,
                                  stretto_dtype dtype, int root, stretto_request *request) {
    return make_request(comm, request, false, Collective::broadcast, STRETTO_IN_PLACE, buffer,
                        count, dtype, 0, root);
}

stretto_status stretto_ireduce_scatter(stretto_comm comm, const void *send, void *recv,
                                       size_t count, stretto_dtype dtype, stretto_op op,
                                       stretto_request *request) {
    return make_request(comm, request, false, Collective::reduce_scatter, send, recv, count, dtype,
                        op, 0);
}

stretto_status stretto_iallgather(stretto_comm comm, const void *send, void *recv, size_t count,
                                  stretto_dtype dtype, stretto_request *request) {
    return make_request(comm, request, false, Collective::allgather, send, recv, count, dtype, 0,
                        0);
}

stretto_status stretto_ibarrier(stretto_comm comm, stretto_request *request) {
    return guarded([&] {
        require(comm != nullptr && request != nullptr, "the communicator or the request is NULL");
        auto made = std::make_unique<stretto_request_s>(
            stretto_request_s{comm, comm->communicator.barrier_request(), false, nullptr});
        made->flight = comm->communicator.start(made->request);
        *request = keep(std::move(made));
    });
}

stretto_status stretto_allreduce_init(stretto_comm comm, const void *send, void *recv, size_t count,
                                      stretto_dtype dtype, stretto_op op,
                                      stretto_request *request) {
    return make_request(comm, request, true, Collective::allreduce, send, recv, count, dtype, op,
                        0);
}

} // extern "C"
