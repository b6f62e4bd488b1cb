// SPDX-License-Identifier: BSD-3-Clause
// The collectives.  Handles are as abi.hpp explains.
#include <climits>

#include "collectives.hpp"
#include "front.hpp"
#include "requests.hpp"

using namespace stretto::mpi;
using std::int64_t;

namespace {

const MpiLibrary &host() {
    return MpiLibrary::get();
}

template<class Library>
int start(Kind kind, const void *send, void *recv, int64_t count, Handle datatype, Handle op,
          Handle comm, void *request, Library &&library) {
    return intercept(
        kind, comm,
        [&](Call &call) {
            return start_allreduce(call, send, recv, count, host().abi().handle(datatype),
                                   host().abi().handle(op), request, kind == Kind::allreduce_init);
        },
        library);
}

// A call with long counts under a library without them: uses short counts, if they fit.
template<class... Counts>
bool is_short(Counts... counts) {
    return !host().large_counts && ((counts <= INT_MAX) && ...);
}

Handle clean(Handle handle) {
    return host().abi().handle(handle);
}

} // namespace

extern "C" {

int PMPI_Allreduce(const void *send, void *recv, int count, Handle datatype, Handle op,
                   Handle comm) {
    return allreduce(send, recv, count, clean(datatype), clean(op), comm,
                     [&] { return host().Allreduce(send, recv, count, datatype, op, comm); });
}

int PMPI_Allreduce_c(const void *send, void *recv, int64_t count, Handle datatype, Handle op,
                     Handle comm) {
    return allreduce(send, recv, count, clean(datatype), clean(op), comm, [&] {
        return is_short(count)
                   ? host().Allreduce(send, recv, static_cast<int>(count), datatype, op, comm)
                   : host().Allreduce_c(send, recv, count, datatype, op, comm);
    });
}

int PMPI_Reduce(const void *send, void *recv, int count, Handle datatype, Handle op, int root,
                Handle comm) {
    return reduce(send, recv, count, clean(datatype), clean(op), root, comm,
                  [&] { return host().Reduce(send, recv, count, datatype, op, root, comm); });
}

int PMPI_Reduce_c(const void *send, void *recv, int64_t count, Handle datatype, Handle op, int root,
                  Handle comm) {
    return reduce(send, recv, count, clean(datatype), clean(op), root, comm, [&] {
        return is_short(count)
                   ? host().Reduce(send, recv, static_cast<int>(count), datatype, op, root, comm)
                   : host().Reduce_c(send, recv, count, datatype, op, root, comm);
    });
}

int PMPI_Bcast(void *buffer, int count, Handle datatype, int root, Handle comm) {
    return bcast(buffer, count, clean(datatype), root, comm,
                 [&] { return host().Bcast(buffer, count, datatype, root, comm); });
}

int PMPI_Bcast_c(void *buffer, int64_t count, Handle datatype, int root, Handle comm) {
    return bcast(buffer, count, clean(datatype), root, comm, [&] {
        return is_short(count) ? host().Bcast(buffer, static_cast<int>(count), datatype, root, comm)
                               : host().Bcast_c(buffer, count, datatype, root, comm);
    });
}

int PMPI_Allgather(const void *send, int send_count, Handle send_datatype, void *recv,
                   int recv_count, Handle recv_datatype, Handle comm) {
    return allgather(send, send_count, clean(send_datatype), recv, recv_count, clean(recv_datatype),
                     comm, [&] {
                         return host().Allgather(send, send_count, send_datatype, recv, recv_count,
                                                 recv_datatype, comm);
                     });
}

int PMPI_Allgather_c(const void *send, int64_t send_count, Handle send_datatype, void *recv,
                     int64_t recv_count, Handle recv_datatype, Handle comm) {
    return allgather(
        send, send_count, clean(send_datatype), recv, recv_count, clean(recv_datatype), comm, [&] {
            return is_short(send_count, recv_count)
                       ? host().Allgather(send, static_cast<int>(send_count), send_datatype, recv,
                                          static_cast<int>(recv_count), recv_datatype, comm)
                       : host().Allgather_c(send, send_count, send_datatype, recv, recv_count,
                                            recv_datatype, comm);
        });
}

int PMPI_Reduce_scatter_block(const void *send, void *recv, int count, Handle datatype, Handle op,
                              Handle comm) {
    return reduce_scatter_block(send, recv, count, clean(datatype), clean(op), comm, [&] {
        return host().Reduce_scatter_block(send, recv, count, datatype, op, comm);
    });
}

int PMPI_Reduce_scatter_block_c(const void *send, void *recv, int64_t count, Handle datatype,
                                Handle op, Handle comm) {
    return reduce_scatter_block(send, recv, count, clean(datatype), clean(op), comm, [&] {
        return is_short(count)
                   ? host().Reduce_scatter_block(send, recv, static_cast<int>(count), datatype, op,
                                                 comm)
                   : host().Reduce_scatter_block_c(send, recv, count, datatype, op, comm);
    });
}

int PMPI_Reduce_scatter(const void *send, void *recv, const int *counts, Handle datatype, Handle op,
                        Handle comm) {
    return reduce_scatter(send, recv, counts, clean(datatype), clean(op), comm, [&] {
        return host().Reduce_scatter(send, recv, counts, datatype, op, comm);
    });
}

int PMPI_Reduce_scatter_c(const void *send, void *recv, const int64_t *counts, Handle datatype,
                          Handle op, Handle comm) {
    return reduce_scatter(send, recv, counts, clean(datatype), clean(op), comm, [&] {
        int ranks = 0;
        if (host().large_counts || counts == nullptr || host().Comm_size(comm, &ranks) != 0 ||
            std::any_of(counts, counts + ranks, [](int64_t each) { return each > INT_MAX; }))
            return host().Reduce_scatter_c(send, recv, counts, datatype, op, comm);
        std::vector<int> narrow;
        for (int rank = 0; rank < ranks; ++rank)
            narrow.push_back(static_cast<int>(counts[rank]));
        return host().Reduce_scatter(send, recv, narrow.data(), datatype, op, comm);
    });
}

int PMPI_Barrier(Handle comm) {
    return barrier(comm, [&] { return host().Barrier(comm); });
}

int PMPI_Iallreduce(const void *send, void *recv, int count, Handle datatype, Handle op,
                    Handle comm, void *request) {
    return start(Kind::iallreduce, send, recv, count, datatype, op, comm, request,
                 [&] { return host().Iallreduce(send, recv, count, datatype, op, comm, request); });
}

int PMPI_Iallreduce_c(const void *send, void *recv, int64_t count, Handle datatype, Handle op,
                      Handle comm, void *request) {
    return start(Kind::iallreduce, send, recv, count, datatype, op, comm, request, [&] {
        return is_short(count)
                   ? host().Iallreduce(send, recv, static_cast<int>(count), datatype, op, comm,
                                       request)
                   : host().Iallreduce_c(send, recv, count, datatype, op, comm, request);
    });
}

int PMPI_Allreduce_init(const void *send, void *recv, int count, Handle datatype, Handle op,
                        Handle comm, Handle info, void *request) {
    return start(Kind::allreduce_init, send, recv, count, datatype, op, comm, request, [&] {
        return host().Allreduce_init(send, recv, count, datatype, op, comm, info, request);
    });
}

int PMPI_Allreduce_init_c(const void *send, void *recv, int64_t count, Handle datatype, Handle op,
                          Handle comm, Handle info, void *request) {
    return start(Kind::allreduce_init, send, recv, count, datatype, op, comm, request, [&] {
        return is_short(count)
                   ? host().Allreduce_init(send, recv, static_cast<int>(count), datatype, op, comm,
                                           info, request)
                   : host().Allreduce_init_c(send, recv, count, datatype, op, comm, info, request);
    });
}

} // extern "C"
