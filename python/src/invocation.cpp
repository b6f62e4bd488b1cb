// SPDX-License-Identifier: BSD-3-Clause
#include "invocation.hpp"

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/types.hpp"
#include "operation.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

[[noreturn]] void refuse(const std::string &why) {
    throw Error(Status::argument, why);
}

Kind kind_named(std::string_view name) {
    constexpr std::string_view names[] = {"allreduce",      "reduce",    "broadcast",
                                          "reduce_scatter", "allgather", "barrier"};
    for (int i = 0; i < 6; ++i)
        if (names[i] == name)
            return static_cast<Kind>(i);
    refuse("there is no collective '" + std::string(name) + "'");
}

std::string elements(const Buffer &buffer) {
    return std::to_string(buffer.count()) + " x " +
           std::string(name(static_cast<Dtype>(buffer.dtype())));
}

} // namespace

Invocation::Invocation(const char *collective, nb::handle send_array, nb::handle recv_array,
                       nb::handle what, int root_rank, int rank, int size)
    : kind(kind_named(collective)), op(op_of(what)), root(root_rank), operation(nb::borrow(what)) {
    if (root < 0 || root >= size)
        refuse("root " + std::to_string(root) + " is no rank of a communicator of " +
               std::to_string(size));
    if (kind == Kind::barrier)
        return;
    const bool in_place = send_array.is_none();
    const bool has_result = kind != Kind::reduce || rank == root;
    if (!in_place)
        send_buffer = Buffer(send_array, Buffer::Use::read, "send");
    if (has_result)
        recv_buffer =
            Buffer(recv_array, Buffer::Use::write, kind == Kind::broadcast ? "buffer" : "recv");
    else if (in_place)
        refuse("send: only the root of a reduce can pass IN_PLACE, as the others have no result");

    const Buffer &whole = in_place ? recv_buffer : send_buffer;
    dtype = whole.dtype();
    const auto parts = static_cast<std::size_t>(size);
    // How many elements of recv stand against `of_send` of send.
    std::size_t of_send = 1, of_recv = 1;
    if (kind == Kind::reduce_scatter)
        of_send = parts;
    else if (kind == Kind::allgather)
        of_recv = parts;
    if (in_place) {
        const std::size_t cut = of_send * of_recv;
        if (recv_buffer.count() % cut != 0)
            refuse("recv: " + elements(recv_buffer) + " cannot be divided among " +
                   std::to_string(size) + " ranks");
        count = recv_buffer.count() / cut;
    } else {
        count = of_send > 1 ? send_buffer.count() / of_send : send_buffer.count();
        if (count * of_send != send_buffer.count())
            refuse("send: " + elements(send_buffer) + " cannot be divided among " +
                   std::to_string(size) + " ranks");
        if (has_result && (recv_buffer.dtype() != dtype || recv_buffer.count() != count * of_recv))
            refuse("recv: " + elements(recv_buffer) + " does not fit " + elements(send_buffer) +
                   " of send; " + std::to_string(count * of_recv) + " x " +
                   std::string(name(static_cast<Dtype>(dtype))) + " does");
    }
    send = in_place ? STRETTO_IN_PLACE : send_buffer.data();
    recv = recv_buffer.data();
    if (!in_place && has_result && send_buffer.overlaps(recv_buffer)) {
        if (send != recv || of_send * of_recv != 1)
            refuse("send and recv overlap; pass IN_PLACE as send to work in place");
        send = STRETTO_IN_PLACE;
    }
}

stretto_status Invocation::call(stretto_comm comm) const {
    switch (kind) {
    case Kind::allreduce: return stretto_allreduce(comm, send, recv, count, dtype, op);
    case Kind::reduce: return stretto_reduce(comm, send, recv, count, dtype, op, root);
    case Kind::broadcast: return stretto_broadcast(comm, recv, count, dtype, root);
    case Kind::reduce_scatter: return stretto_reduce_scatter(comm, send, recv, count, dtype, op);
    case Kind::allgather: return stretto_allgather(comm, send, recv, count, dtype);
    case Kind::barrier: break;
    }
    return stretto_barrier(comm);
}

stretto_status Invocation::start(stretto_comm comm, stretto_request *request) const {
    switch (kind) {
    case Kind::allreduce: return stretto_iallreduce(comm, send, recv, count, dtype, op, request);
    case Kind::reduce: return stretto_ireduce(comm, send, recv, count, dtype, op, root, request);
    case Kind::broadcast: return stretto_ibroadcast(comm, recv, count, dtype, root, request);
    case Kind::reduce_scatter:
        return stretto_ireduce_scatter(comm, send, recv, count, dtype, op, request);
    case Kind::allgather: return stretto_iallgather(comm, send, recv, count, dtype, request);
    case Kind::barrier: break;
    }
    return stretto_ibarrier(comm, request);
}

} // namespace stretto::python
