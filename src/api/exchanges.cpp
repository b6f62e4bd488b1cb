// SPDX-License-Identifier: BSD-3-Clause
// The C API: gatherv, scatterv and alltoallv, whose counts only the two ranks of each pair know.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/types.hpp"
#include "engine/executor.hpp"
#include "handles.hpp"
#include "overlap.hpp"

using stretto::comm::Exchange;
using stretto::schedule::Collective;
using namespace stretto::api;

namespace {

using Parts = std::vector<Exchange::Part>; // by rank

// A buffer with a part for each rank.
Parts parts(stretto_comm comm, CallBuffers &buffers, const void *buffer, const std::size_t *counts,
            const std::size_t *displacements, stretto::Dtype dtype) {
    require(counts != nullptr, "the counts are NULL; one for each rank is needed");
    const std::size_t element = size_of(dtype);
    Parts result;
    std::size_t next = 0;
    for (int rank = 0; rank < comm->communicator.size(); ++rank) {
        const std::size_t count = counts[rank];
        const std::size_t first = displacements != nullptr ? displacements[rank] : next;
        require(first <= kMostElements && count <= kMostElements - first,
                "counts or displacements are too large for the address space");
        require(count == 0 || buffer != nullptr, "a buffer is NULL");
        next = first + count;
        // Only received parts are written.
        auto *const data = static_cast<std::byte *>(const_cast<void *>(buffer));
        std::byte *const part = count == 0 ? nullptr : data + first * element;
        result.push_back({rank, part, count * element, buffers.memory_of(part, count)});
    }
    return result;
}

Exchange::Part whole(CallBuffers &buffers, int peer, const void *buffer, std::size_t count,
                     stretto::Dtype dtype) {
    require(count <= kMostElements, "count is too large for the address space");
    require(count == 0 || buffer != nullptr, "a buffer is NULL");
    return {peer, const_cast<void *>(buffer), count * size_of(dtype),
            buffers.memory_of(buffer, count)};
}

Exchange exchange(stretto_comm comm, Collective collective, const char *name, int dtype,
                  int root = 0) {
    require(root >= 0 && root < comm->communicator.size(),
            "root is not a rank of the communicator");
    Exchange what;
    what.collective = collective;
    what.name = name;
    what.dtype = dtype_of(dtype);
    what.root = root;
    return what;
}

Range range(const Exchange::Part &part) {
    return {part.data, part.bytes};
}

std::vector<Range> ranges(const Parts &parts) {
    std::vector<Range> result;
    for (const Exchange::Part &part : parts)
        result.push_back(range(part));
    return result;
}

// Copies a part of this rank.
void copy(const char *name, const Exchange::Part &from, const Exchange::Part &to) {
    if (from.bytes == 0)
        return;
    const stretto::MemoryKind memory = std::max(from.memory, to.memory);
    if (memory == stretto::MemoryKind::host) {
        std::memmove(to.data, from.data, from.bytes);
        return;
    }
    try {
        stretto::engine::executor_of(memory)->copy(to.data, from.data, from.bytes);
    } catch (const stretto::Error &why) {
        throw stretto::Error(
            why.status(), "in " + std::string(name) + " a copy of " + std::to_string(from.bytes) +
                              " bytes from or to the device failed: " + why.what());
    }
}

// The part that this rank sends to itself: it is copied now, or when the order has come to it.
void keep_own(Exchange &what, const CallBuffers &buffers, const Exchange::Part &from,
              const Exchange::Part &to, int rank) {
    require(from.bytes == to.bytes,
            "the parts that this rank sends to itself and receives from itself differ in count");
    if (!buffers.ordered())
        return copy(what.name, from, to);
    if (from.bytes == 0)
        return;
    what.sends.push_back(from);
    what.receives.push_back(to);
    what.sends.back().peer = what.receives.back().peer = rank;
}

// Messages to all others, beginning with the next rank, so that ranks do not all begin with the
// same one.
void add_others(Parts &messages, const Parts &all, int rank) {
    const std::size_t size = all.size();
    for (std::size_t i = 1; i < size; ++i)
        messages.push_back(all[(static_cast<std::size_t>(rank) + i) % size]);
}

Exchange gather(stretto_comm comm, CallBuffers &buffers, const void *send, std::size_t count,
                void *recv, const std::size_t *counts, const std::size_t *displacements, int dtype,
                int root) {
    Exchange what = exchange(comm, Collective::gather, "gatherv", dtype, root);
    const int rank = comm->communicator.rank();
    if (rank != root) {
        require(send != STRETTO_IN_PLACE,
                "STRETTO_IN_PLACE is for the root only, as the others have no result");
        what.sends.push_back(whole(buffers, root, send, count, what.dtype));
        return what;
    }
    const Parts all = parts(comm, buffers, recv, counts, displacements, what.dtype);
    if (send != STRETTO_IN_PLACE) {
        const Exchange::Part own = whole(buffers, root, send, count, what.dtype);
        keep_apart({range(own)}, ranges(all));
        keep_own(what, buffers, own, all[static_cast<std::size_t>(rank)], rank);
    } else
        keep_apart({}, ranges(all));
    add_others(what.receives, all, rank);
    return what;
}

Exchange scatter(stretto_comm comm, CallBuffers &buffers, const void *send,
                 const std::size_t *counts, const std::size_t *displacements, void *recv,
                 std::size_t count, int dtype, int root) {
    Exchange what = exchange(comm, Collective::scatter, "scatterv", dtype, root);
    const int rank = comm->communicator.rank();
    if (rank != root) {
        require(recv != STRETTO_IN_PLACE,
                "STRETTO_IN_PLACE as recv is for the root of a scatter only");
        what.receives.push_back(whole(buffers, root, recv, count, what.dtype));
        return what;
    }
    require(send != STRETTO_IN_PLACE, "in a scatter STRETTO_IN_PLACE stands for recv, of the root");
    const Parts all = parts(comm, buffers, send, counts, displacements, what.dtype);
    if (recv != STRETTO_IN_PLACE) {
        const Exchange::Part own = whole(buffers, root, recv, count, what.dtype);
        keep_apart(ranges(all), {range(own)});
        keep_own(what, buffers, all[static_cast<std::size_t>(rank)], own, rank);
    }
    add_others(what.sends, all, rank);
    return what;
}

Exchange alltoall(stretto_comm comm, CallBuffers &buffers, std::vector<std::byte> &aside,
                  const void *send, const std::size_t *send_counts,
                  const std::size_t *send_displacements, void *recv, const std::size_t *recv_counts,
                  const std::size_t *recv_displacements, int dtype) {
    Exchange what = exchange(comm, Collective::alltoall, "alltoallv", dtype);
    const int rank = comm->communicator.rank();
    const Parts received = parts(comm, buffers, recv, recv_counts, recv_displacements, what.dtype);
    add_others(what.receives, received, rank);
    if (send == STRETTO_IN_PLACE) {
        keep_apart({}, ranges(received));
        what.sends = what.receives;
        if (buffers.ordered()) {
            for (Exchange::Part &part : what.sends)
                part.aside = true;
            return what;
        }
        std::size_t bytes = 0, next = 0;
        for (const Exchange::Part &part : what.receives)
            bytes += part.bytes;
        aside.resize(bytes);
        for (Exchange::Part &part : what.sends) {
            const Exchange::Part kept{part.peer, aside.data() + next, part.bytes};
            copy(what.name, part, kept);
            part = kept;
            next += part.bytes;
        }
    } else {
        const Parts sent = parts(comm, buffers, send, send_counts, send_displacements, what.dtype);
        keep_apart(ranges(sent), ranges(received));
        keep_own(what, buffers, sent[static_cast<std::size_t>(rank)],
                 received[static_cast<std::size_t>(rank)], rank);
        add_others(what.sends, sent, rank);
    }
    return what;
}

// Starts the exchange that `describe(buffers, request)` gives.
template<class Describe>
stretto_request start(stretto_comm comm, bool ordered, const Describe &describe) {
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    return launch(comm, [&](stretto_request_s &made) {
        CallBuffers buffers(comm, ordered);
        Exchange what = comm->communicator.together([&] { return describe(buffers, made); });
        made.buffer = buffers.first_on_device();
        if (ordered)
            what.gate = place_in_stream(comm, made.buffer);
        auto begun = comm->communicator.exchange(what);
        made.transfers = std::move(begun.transfers);
        made.exchange = begun.call;
    });
}

// Runs it to its end.
template<class Describe>
stretto_status blocking(stretto_comm comm, Collective collective, const Describe &describe) {
    return guarded_in(comm, [&] {
        const std::uint64_t came = stretto::now_ns();
        finish(start(comm, false, describe));
        comm->communicator.record_exchange(collective, came);
    });
}

template<class Describe>
stretto_status nonblocking(stretto_comm comm, stretto_request *request, const Describe &describe) {
    return guarded_in(comm, [&] {
        give(comm, request, [&] { return start(comm, ordered_by_stream(), describe); });
    });
}

} // namespace

extern "C" {

stretto_status stretto_gatherv(stretto_comm comm, const void *send, size_t count, void *recv,
                               const size_t counts[], const size_t displacements[],
                               stretto_dtype dtype, int root) {
    return blocking(comm, Collective::gather, [&](CallBuffers &buffers, auto &) {
        return gather(comm, buffers, send, count, recv, counts, displacements, dtype, root);
    });
}

stretto_status stretto_scatterv(stretto_comm comm, const void *send, const size_t counts[],
                                const size_t displacements[], void *recv, size_t count,
                                stretto_dtype dtype, int root) {
    return blocking(comm, Collective::scatter, [&](CallBuffers &buffers, auto &) {
        return scatter(comm, buffers, send, counts, displacements, recv, count, dtype, root);
    });
}

stretto_status stretto_alltoallv(stretto_comm comm, const void *send, const size_t send_counts[],
                                 const size_t send_displacements[], void *recv,
                                 const size_t recv_counts[], const size_t recv_displacements[],
                                 stretto_dtype dtype) {
    return blocking(comm, Collective::alltoall, [&](CallBuffers &buffers, auto &made) {
        return alltoall(comm, buffers, made.aside, send, send_counts, send_displacements, recv,
                        recv_counts, recv_displacements, dtype);
    });
}

stretto_status stretto_igatherv(stretto_comm comm, const void *send, size_t count, void *recv,
                                const size_t counts[], const size_t displacements[],
                                stretto_dtype dtype, int root, stretto_request *request) {
    return nonblocking(comm, request, [&](CallBuffers &buffers, auto &) {
        return gather(comm, buffers, send, count, recv, counts, displacements, dtype, root);
    });
}

stretto_status stretto_iscatterv(stretto_comm comm, const void *send, const size_t counts[],
                                 const size_t displacements[], void *recv, size_t count,
                                 stretto_dtype dtype, int root, stretto_request *request) {
    return nonblocking(comm, request, [&](CallBuffers &buffers, auto &) {
        return scatter(comm, buffers, send, counts, displacements, recv, count, dtype, root);
    });
}

stretto_status stretto_ialltoallv(stretto_comm comm, const void *send, const size_t send_counts[],
                                  const size_t send_displacements[], void *recv,
                                  const size_t recv_counts[], const size_t recv_displacements[],
                                  stretto_dtype dtype, stretto_request *request) {
    return nonblocking(comm, request, [&](CallBuffers &buffers, auto &made) {
        return alltoall(comm, buffers, made.aside, send, send_counts, send_displacements, recv,
                        recv_counts, recv_displacements, dtype);
    });
}

} // extern "C"
