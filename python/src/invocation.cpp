// SPDX-License-Identifier: BSD-3-Clause
#include "invocation.hpp"

#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "base/types.hpp"
#include "operation.hpp"
#include "schedule/layout.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

using schedule::Collective;
using schedule::Holds;
using schedule::InPlace;

[[noreturn]] void refuse(const std::string &why) {
    throw Error(Status::argument, why);
}

Collective collective_named(std::string_view name) {
    const auto found = schedule::collective_named(name);
    if (!found || *found == Collective::custom)
        refuse("there is no collective '" + std::string(name) + "'");
    return *found;
}

std::string elements(std::size_t count, stretto_dtype dtype) {
    return std::to_string(count) + " x " + std::string(name(static_cast<Dtype>(dtype)));
}

std::string elements(const Buffer &buffer) {
    return elements(buffer.count(), buffer.dtype());
}

// How many elements a buffer of this rank has.
class Sizes {
public:
    Sizes(Collective collective, const Counts &counts, int rank, int size)
        : counts_(counts), rank_(static_cast<std::size_t>(rank)),
          parts_(schedule::in_parts(collective) ? static_cast<std::size_t>(size) : 1) {}

    // In elements that `count` stands for.
    std::size_t of(Holds holds, std::size_t count) const {
        if (holds == Holds::nothing)
            return 0;
        if (counts_.empty())
            return holds == Holds::own ? count : count * parts_;
        return holds == Holds::own
                   ? counts_[rank_]
                   : std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
    }

    // Elements of the parts of lower ranks.
    std::size_t before(std::size_t count) const {
        return counts_.empty()
                   ? rank_ * count
                   : std::accumulate(counts_.begin(),
                                     counts_.begin() + static_cast<std::ptrdiff_t>(rank_),
                                     std::size_t{0});
    }

    // The count that a buffer shows.
    std::size_t count_of(const Buffer &buffer, Holds holds, const char *what) const {
        const std::size_t parts = holds == Holds::own ? 1 : parts_;
        if (counts_.empty() && buffer.count() % parts != 0)
            refuse(std::string(what) + ": " + elements(buffer) + " cannot be divided among " +
                   std::to_string(parts_) + " ranks");
        return buffer.count() / parts;
    }

private:
    const Counts &counts_;
    const std::size_t rank_, parts_;
};

} // namespace

Invocation::Invocation(const char *collective_name, nb::handle send_array, nb::handle recv_array,
                       nb::handle what, int root_rank, int rank, int size, Counts all_counts,
                       StreamNumber order)
    : collective(collective_named(collective_name)), counts(std::move(all_counts)), op(op_of(what)),
      root(root_rank), operation(nb::borrow(what)), order_(order) {
    if (root < 0 || root >= size)
        refuse("root " + std::to_string(root) + " is no rank of a communicator of " +
               std::to_string(size));
    if (!counts.empty() && counts.size() != static_cast<std::size_t>(size))
        refuse("counts: " + std::to_string(counts.size()) + " for " + std::to_string(size) +
               " ranks; one for each is wanted");
    if (collective == Collective::barrier)
        return;
    const schedule::Layout where = schedule::layout(collective);
    const schedule::Buffers held = rank == root ? where.root : where.others;
    const bool gives = held.input != Holds::nothing, gets = held.output != Holds::nothing;
    const bool keeps = where.in_place == InPlace::kept && gives && recv_array.is_none();
    const bool in_place = keeps || (gives && send_array.is_none());
    if (in_place && !gets)
        refuse("send: only the root of a " + std::string(collective_name) +
               " can pass IN_PLACE, as the others have no result");
    const char *const recv_name = collective == Collective::broadcast ? "buffer" : "recv";
    if (gives && (!in_place || keeps))
        send_buffer = Buffer(send_array, Buffer::Use::read, "send", order);
    if (gets && !keeps)
        recv_buffer =
            Buffer(recv_array,
                   collective == Collective::broadcast && rank == root ? Buffer::Use::read
                                                                       : Buffer::Use::write,
                   recv_name, order);

    // One buffer shows the count and the type, the other must fit.
    const Sizes sizes(collective, counts, rank, size);
    const bool by_send = gives && (!in_place || keeps);
    const Buffer &first = by_send ? send_buffer : recv_buffer;
    const Holds first_holds =
        by_send || (in_place && held.input == Holds::whole) ? held.input : held.output;
    const char *const first_name = by_send ? "send" : recv_name;
    dtype = first.dtype();
    count = sizes.count_of(first, first_holds, first_name);
    if (const std::size_t right = sizes.of(first_holds, count); first.count() != right)
        refuse(std::string(first_name) + ": " + elements(first) + " does not fit the counts; " +
               elements(right, dtype) + " does");
    if (by_send && gets && !keeps) {
        const std::size_t right = sizes.of(held.output, count);
        if (recv_buffer.dtype() != dtype || recv_buffer.count() != right)
            refuse("recv: " + elements(recv_buffer) + " does not fit " + elements(send_buffer) +
                   " of send; " + elements(right, dtype) + " does");
    }

    send = in_place && !keeps ? STRETTO_IN_PLACE : send_buffer.data();
    recv = keeps ? const_cast<void *>(STRETTO_IN_PLACE) : recv_buffer.data();
    if (by_send && gets && !keeps && send_buffer.overlaps(recv_buffer)) {
        // Where this rank's part is, or will be.
        const std::size_t before = sizes.before(count) * size_of(static_cast<Dtype>(dtype));
        const void *const own = static_cast<const std::byte *>(recv) + before;
        const bool fits = where.in_place == InPlace::over     ? send == recv
                          : where.in_place == InPlace::inside ? send == own
                                                              : false;
        if (!fits)
            refuse("send and recv overlap; pass IN_PLACE to work in place");
        send = STRETTO_IN_PLACE;
    }
}

stretto_status Invocation::call(stretto_comm comm) const {
    const bool one = counts.empty();
    switch (collective) {
    case Collective::allreduce: return stretto_allreduce(comm, send, recv, count, dtype, op);
    case Collective::reduce: return stretto_reduce(comm, send, recv, count, dtype, op, root);
    case Collective::broadcast: return stretto_broadcast(comm, recv, count, dtype, root);
    case Collective::reduce_scatter:
        return one ? stretto_reduce_scatter(comm, send, recv, count, dtype, op)
                   : stretto_reduce_scatterv(comm, send, recv, counts.data(), dtype, op);
    case Collective::allgather:
        return one ? stretto_allgather(comm, send, recv, count, dtype)
                   : stretto_allgatherv(comm, send, recv, counts.data(), dtype);
    case Collective::gather: return stretto_gather(comm, send, recv, count, dtype, root);
    case Collective::scatter: return stretto_scatter(comm, send, recv, count, dtype, root);
    case Collective::alltoall: return stretto_alltoall(comm, send, recv, count, dtype);
    default: return stretto_barrier(comm);
    }
}

stretto_status Invocation::start(stretto_comm comm, stretto_request *request,
                                 bool stream_waits) const {
    return in_order_of(order_, stream_waits, [&] { return start_now(comm, request); });
}

stretto_status Invocation::start_now(stretto_comm comm, stretto_request *request) const {
    const bool one = counts.empty();
    switch (collective) {
    case Collective::allreduce:
        return stretto_iallreduce(comm, send, recv, count, dtype, op, request);
    case Collective::reduce:
        return stretto_ireduce(comm, send, recv, count, dtype, op, root, request);
    case Collective::broadcast: return stretto_ibroadcast(comm, recv, count, dtype, root, request);
    case Collective::reduce_scatter:
        return one ? stretto_ireduce_scatter(comm, send, recv, count, dtype, op, request)
                   : stretto_ireduce_scatterv(comm, send, recv, counts.data(), dtype, op, request);
    case Collective::allgather:
        return one ? stretto_iallgather(comm, send, recv, count, dtype, request)
                   : stretto_iallgatherv(comm, send, recv, counts.data(), dtype, request);
    case Collective::gather: return stretto_igather(comm, send, recv, count, dtype, root, request);
    case Collective::scatter:
        return stretto_iscatter(comm, send, recv, count, dtype, root, request);
    case Collective::alltoall: return stretto_ialltoall(comm, send, recv, count, dtype, request);
    default: return stretto_ibarrier(comm, request);
    }
}

} // namespace stretto::python
