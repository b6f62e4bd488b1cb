// SPDX-License-Identifier: BSD-3-Clause
// The blocking collectives, for counts of any width and from any language.  `library` makes the
// same call of the MPI library.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "intercept.hpp"
#include "reduction.hpp"

namespace stretto::mpi {

inline bool is_in_place(const void *send) {
    return send == MpiLibrary::get().abi().in_place;
}

// What is written over and over is never read by the program meanwhile: `send` is not changed.
inline void *readable(const void *send) {
    return const_cast<void *>(send);
}

template<class Library>
int allreduce(const void *send, void *recv, std::int64_t count, Handle datatype, Handle op,
              Handle comm, Library &&library) {
    return intercept(
        Kind::allreduce, comm,
        [&](Call &call) {
            Reduction reduction;
            if (count < 0)
                return Reason::argument;
            if (const Reason reason = reduction.prepare(datatype, op); reason != Reason::by_stretto)
                return reason;
            const auto elements = static_cast<std::size_t>(count);
            const Datatype &type = reduction.datatype();
            if (const Reason reason = call.begin(elements * type.size);
                reason != Reason::by_stretto)
                return reason;
            if (elements * type.size == 0)
                return Reason::by_stretto; // on all ranks
            // MPI does not allow one buffer as both, but programs do it.
            const bool in_place = is_in_place(send) || send == recv;
            Dense in = in_place ? Dense() : Dense(type, elements, readable(send), Dense::Use::read);
            const Dense out(type, elements, recv, in_place ? Dense::Use::both : Dense::Use::write);
            if (!in_place)
                in.keep_from(elements * type.size, out.data(), elements * type.size);
            check(stretto_allreduce(call.comm(), in_place ? STRETTO_IN_PLACE : in.data(),
                                    out.data(), elements, reduction.dtype(), reduction.op()));
            out.unpack(elements);
            return Reason::by_stretto;
        },
        library);
}

template<class Library>
int reduce(const void *send, void *recv, std::int64_t count, Handle datatype, Handle op, int root,
           Handle comm, Library &&library) {
    return intercept(
        Kind::reduce, comm,
        [&](Call &call) {
            Reduction reduction;
            if (count < 0 || root < 0 || root >= call.size())
                return Reason::argument;
            if (const Reason reason = reduction.prepare(datatype, op); reason != Reason::by_stretto)
                return reason;
            const auto elements = static_cast<std::size_t>(count);
            const Datatype &type = reduction.datatype();
            if (const Reason reason = call.begin(elements * type.size);
                reason != Reason::by_stretto)
                return reason;
            if (elements * type.size == 0)
                return Reason::by_stretto; // on all ranks
            const bool is_root = call.rank() == root;
            const bool in_place = is_root && (is_in_place(send) || send == recv);
            Dense in = in_place ? Dense() : Dense(type, elements, readable(send), Dense::Use::read);
            const Dense out = is_root ? Dense(type, elements, recv,
                                              in_place ? Dense::Use::both : Dense::Use::write)
                                      : Dense();
            if (is_root && !in_place)
                in.keep_from(elements * type.size, out.data(), elements * type.size);
            check(stretto_reduce(call.comm(), in_place ? STRETTO_IN_PLACE : in.data(), out.data(),
                                 elements, reduction.dtype(), reduction.op(), root));
            out.unpack(elements);
            return Reason::by_stretto;
        },
        library);
}

// Bytes are moved, whatever the types: ranks may describe them differently.
template<class Library>
int bcast(void *buffer, std::int64_t count, Handle datatype, int root, Handle comm,
          Library &&library) {
    return intercept(
        Kind::bcast, comm,
        [&](Call &call) {
            Datatype type;
            if (count < 0 || root < 0 || root >= call.size() || !examine(datatype, type))
                return Reason::argument;
            const auto elements = static_cast<std::size_t>(count);
            if (const Reason reason = call.begin(elements * type.size);
                reason != Reason::by_stretto)
                return reason;
            if (elements * type.size == 0)
                return Reason::by_stretto; // on all ranks
            const bool is_root = call.rank() == root;
            const Dense data(type, elements, buffer,
                             is_root ? Dense::Use::read : Dense::Use::write);
            check(stretto_broadcast(call.comm(), data.data(), elements * type.size, STRETTO_UINT8,
                                    root));
            if (!is_root)
                data.unpack(elements);
            return Reason::by_stretto;
        },
        library);
}

template<class Library>
int allgather(const void *send, std::int64_t send_count, Handle send_datatype, void *recv,
              std::int64_t recv_count, Handle recv_datatype, Handle comm, Library &&library) {
    return intercept(
        Kind::allgather, comm,
        [&](Call &call) {
            Datatype send_type, recv_type;
            const bool in_place = is_in_place(send);
            if (recv_count < 0 || !examine(recv_datatype, recv_type))
                return Reason::argument;
            const auto elements = static_cast<std::size_t>(recv_count);
            const std::size_t bytes = elements * recv_type.size;
            if (!in_place && (send_count < 0 || !examine(send_datatype, send_type)))
                return Reason::argument;
            const auto ranks = static_cast<std::size_t>(call.size());
            if (const Reason reason = call.begin(ranks * bytes); reason != Reason::by_stretto)
                return reason;
            // Only this rank knows of the error.  It fails the call, so that the others do not
            // wait.
            const auto sent = static_cast<std::size_t>(send_count) * send_type.size;
            if (!in_place && sent != bytes)
                throw Failure(STRETTO_ERR_MISMATCH,
                              "rank " + std::to_string(call.rank()) + " sends " +
                                  std::to_string(sent) + " bytes and receives blocks of " +
                                  std::to_string(bytes) + ", which must be the same");
            if (ranks * bytes == 0)
                return Reason::by_stretto; // on all ranks
            Dense in = in_place ? Dense()
                                : Dense(send_type, static_cast<std::size_t>(send_count),
                                        readable(send), Dense::Use::read);
            const Dense out(recv_type, ranks * elements, recv,
                            in_place ? Dense::Use::both : Dense::Use::write);
            if (!in_place)
                in.keep_from(bytes, out.data(), ranks * bytes);
            check(stretto_allgather(call.comm(), in_place ? STRETTO_IN_PLACE : in.data(),
                                    out.data(), bytes, STRETTO_UINT8));
            out.unpack(ranks * elements);
            return Reason::by_stretto;
        },
        library);
}

template<class Library>
int reduce_scatter_block(const void *send, void *recv, std::int64_t count, Handle datatype,
                         Handle op, Handle comm, Library &&library) {
    return intercept(
        Kind::reduce_scatter_block, comm,
        [&](Call &call) {
            Reduction reduction;
            if (count < 0)
                return Reason::argument;
            if (const Reason reason = reduction.prepare(datatype, op); reason != Reason::by_stretto)
                return reason;
            const auto elements = static_cast<std::size_t>(count);
            const std::size_t all = elements * static_cast<std::size_t>(call.size());
            const Datatype &type = reduction.datatype();
            if (const Reason reason = call.begin(all * type.size); reason != Reason::by_stretto)
                return reason;
            if (all * type.size == 0)
                return Reason::by_stretto; // on all ranks
            const bool in_place = is_in_place(send);
            Dense in = in_place ? Dense() : Dense(type, all, readable(send), Dense::Use::read);
            const Dense out(type, in_place ? all : elements, recv,
                            in_place ? Dense::Use::both : Dense::Use::write);
            if (!in_place)
                in.keep_from(all * type.size, out.data(), elements * type.size);
            check(stretto_reduce_scatter(call.comm(), in_place ? STRETTO_IN_PLACE : in.data(),
                                         out.data(), elements, reduction.dtype(), reduction.op()));
            out.unpack(elements);
            return Reason::by_stretto;
        },
        library);
}

template<class Count, class Library>
int reduce_scatter(const void *send, void *recv, const Count *counts, Handle datatype, Handle op,
                   Handle comm, Library &&library) {
    return intercept(
        Kind::reduce_scatter, comm,
        [&](Call &call) {
            Reduction reduction;
            if (counts == nullptr)
                return Reason::argument;
            const std::vector<Count> given(counts, counts + call.size());
            if (std::any_of(given.begin(), given.end(), [](Count each) { return each < 0; }))
                return Reason::argument;
            if (const Reason reason = reduction.prepare(datatype, op); reason != Reason::by_stretto)
                return reason;
            const std::vector<std::size_t> shares(given.begin(), given.end());
            const std::size_t all = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
            const std::size_t own = shares[static_cast<std::size_t>(call.rank())];
            const Datatype &type = reduction.datatype();
            if (const Reason reason = call.begin(all * type.size); reason != Reason::by_stretto)
                return reason;
            if (all * type.size == 0)
                return Reason::by_stretto; // on all ranks
            const bool in_place = is_in_place(send);
            Dense in = in_place ? Dense() : Dense(type, all, readable(send), Dense::Use::read);
            const Dense out(type, in_place ? all : own, recv,
                            in_place ? Dense::Use::both : Dense::Use::write);
            if (!in_place)
                in.keep_from(all * type.size, out.data(), own * type.size);
            check(stretto_reduce_scatterv(call.comm(), in_place ? STRETTO_IN_PLACE : in.data(),
                                          out.data(), shares.data(), reduction.dtype(),
                                          reduction.op()));
            out.unpack(own);
            return Reason::by_stretto;
        },
        library);
}

template<class Library>
int barrier(Handle comm, Library &&library) {
    return intercept(
        Kind::barrier, comm,
        [&](Call &call) {
            if (const Reason reason = call.begin(0); reason != Reason::by_stretto)
                return reason;
            check(stretto_barrier(call.comm()));
            return Reason::by_stretto;
        },
        library);
}

} // namespace stretto::mpi
