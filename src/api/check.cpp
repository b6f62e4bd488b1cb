// SPDX-License-Identifier: BSD-3-Clause
// The C API: checks the arguments of collectives, as far as one rank can check them alone.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "base/types.hpp"
#include "device/devices.hpp"
#include "handles.hpp"
#include "overlap.hpp"
#include "schedule/layout.hpp"

namespace stretto::api {

namespace {

using calls::Request;
using reduce::Operation;
using schedule::Buffers;
using schedule::Collective;
using schedule::Holds;
using schedule::InPlace;
using schedule::Layout;

// Checks everything except buffers and counts.
Request without_buffers(stretto_comm comm, Collective collective, int dtype, int op, int root,
                        const Operation *made) {
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    const Dtype type = dtype_of(dtype);
    require(made != nullptr || (op >= 0 && op < kBuiltInOps),
            "unknown op; see stretto_op in stretto.h");
    const ReduceOp kind = made != nullptr ? made->kind : static_cast<ReduceOp>(op);
    if ((supported_ops(type) >> static_cast<int>(kind) & 1) == 0 && reduces(collective))
        [[unlikely]]
        require_pair(type, kind);
    require(root >= 0 && root < comm->communicator.size(),
            "root is not a rank of the communicator");
    Request request{collective, nullptr, nullptr, 0, type, kind, root};
    if (made != nullptr) [[unlikely]] {
        if (kind == ReduceOp::premul_sum && made->dtype != type)
            throw Error(Status::argument, "the scalar of this premul_sum is a " +
                                              std::string(name(made->dtype)) +
                                              ", the elements are " + words(type));
        request.operation = made;
        request.operation_number = static_cast<std::uint32_t>(op);
    }
    return request;
}

// The root of a scatter may keep its own part where it is.
void place_scattered(Request &request, Buffers held, void *recv) {
    if (recv == STRETTO_IN_PLACE) {
        require(held.input != Holds::nothing,
                "STRETTO_IN_PLACE as recv is for the root of a scatter only");
        request.output = const_cast<void *>(request.input);
        request.input = nullptr;
    } else if (held.input == Holds::nothing) {
        request.input = recv; // never read, and not in place
    }
}

// Elements of a whole vector, and of this rank's part of it.
struct Sizes {
    std::size_t whole, own;

    std::size_t of(Holds holds) const {
        return holds == Holds::whole ? whole : holds == Holds::own ? own : 0;
    }
};

// Checks the buffers of this rank, and finds which of them are input and output.  Without elements
// no buffer is needed.
void place(Request &request, const Sizes &sizes, int rank) {
    const Layout where = schedule::layout(request.collective);
    const Buffers held = rank == request.root ? where.root : where.others;
    const bool in_place = request.input == STRETTO_IN_PLACE;
    const bool nothing_sent = sizes.of(where.root.input) == 0;
    const bool nothing_received = sizes.of(where.root.output) == 0;
    const std::size_t element = size_of(request.dtype);
    const Range sent{request.input, sizes.of(held.input) * element};
    const Range received{request.output, sizes.of(held.output) * element};
    const bool same = request.input == request.output && sent.bytes != 0 && received.bytes != 0;
    require(nothing_received || request.output != nullptr || held.output == Holds::nothing,
            "the receive buffer is NULL");
    require(nothing_sent || request.input != nullptr || held.input == Holds::nothing,
            "the send buffer is NULL; STRETTO_IN_PLACE?");
    if (where.in_place == InPlace::kept) {
        require(!in_place || held.input == Holds::nothing,
                "in a scatter STRETTO_IN_PLACE stands for recv, of the root");
        require(!same, "send and receive buffer are the same; pass STRETTO_IN_PLACE to say so");
        if (request.output != STRETTO_IN_PLACE)
            keep_apart(sent, received);
        return place_scattered(request, held, request.output);
    }
    if (in_place) {
        require(held.output != Holds::nothing,
                "STRETTO_IN_PLACE is for the root only, as the others have no result");
        require(nothing_sent || request.output != nullptr, "the receive buffer is NULL");
        request.input = nullptr;
    } else {
        require(!same, "send and receive buffer are the same; pass STRETTO_IN_PLACE to say so");
        keep_apart(sent, received);
    }
    if (held.output == Holds::nothing)
        request.output = nullptr;
}

// Ranks need not agree on the kind of memory.
void find_memory(Request &request) {
    request.memory =
        std::max(device::memory_kind_of(request.input), device::memory_kind_of(request.output));
}

} // namespace

Request checked(stretto_comm comm, Collective collective, const void *send, void *recv,
                std::size_t count, int dtype, int op, int root, const Operation *made) {
    Request request = without_buffers(comm, collective, dtype, op, root, made);
    require(count <= kMostElements / static_cast<std::size_t>(comm->communicator.size()),
            "count is too large for the address space");
    request.count = count;
    request.input = send;
    request.output = recv;
    const auto size = static_cast<std::size_t>(comm->communicator.size());
    place(request, {schedule::in_parts(collective) ? count * size : count, count},
          comm->communicator.rank());
    find_memory(request);
    return request;
}

Request checked(stretto_comm comm, Collective collective, const void *send, void *recv,
                const std::size_t *counts, int dtype, int op, int root, const Operation *made) {
    Request request = without_buffers(comm, collective, dtype, op, root, made);
    require(counts != nullptr, "the counts are NULL; one for each rank is needed");
    const std::span<const std::size_t> shares(counts,
                                              static_cast<std::size_t>(comm->communicator.size()));
    std::size_t whole = 0;
    for (const std::size_t count : shares) {
        require(count <= kMostElements - whole, "the counts are too large for the address space");
        whole += count;
    }
    const int rank = comm->communicator.rank();
    const std::size_t own = shares[static_cast<std::size_t>(rank)];
    request.input = send;
    request.output = recv;
    place(request, {whole, own}, rank);
    find_memory(request);
    comm->communicator.together([&] { comm->communicator.calls().shares.give(request, shares); });
    return request;
}

} // namespace stretto::api
