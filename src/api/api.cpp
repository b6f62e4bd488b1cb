// SPDX-License-Identifier: BSD-3-Clause
// The C API: arguments are checked here, and errors become statuses.
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"
#include "comm/communicator.hpp"
#include "stretto/stretto.h"

using stretto::Dtype;
using stretto::Error;
using stretto::ReduceOp;
using stretto::Status;
using stretto::comm::Communicator;
using stretto::comm::Request;
using stretto::schedule::Collective;

struct stretto_comm_s {
    explicit stretto_comm_s(const stretto::comm::Identity &identity) : communicator(identity) {}
    Communicator communicator;
    std::set<stretto_request_s *> requests;
    stretto::comm::Stats shown; // keeps the names of the last stretto_stats alive
};

struct stretto_request_s {
    stretto_comm_s *comm;
    Request request;
    bool persistent;
    stretto::engine::Queue::Flight *flight; // null when not running
};

namespace {

thread_local std::string last_error;

// Runs `body` and turns what it throws into a status and a message.
template<class Body>
stretto_status guarded(Body &&body) {
    try {
        body();
        return STRETTO_OK;
    } catch (const Error &error) {
        last_error = error.what();
        return static_cast<stretto_status>(error.status());
    } catch (const std::bad_alloc &) {
        last_error = "out of memory";
        return STRETTO_ERR_MEMORY;
    } catch (const std::exception &error) {
        last_error = std::string("internal error: ") + error.what();
        return STRETTO_ERR_INTERNAL;
    }
}

void require(bool condition, const char *message) {
    if (!condition) [[unlikely]]
        throw Error(Status::argument, message);
}

// A request with everything checked that one rank can check alone.
Request checked(stretto_comm comm, Collective collective, const void *send, void *recv,
                std::size_t count, int dtype, int op, int root) {
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    require(dtype >= 0 && dtype < stretto::kDtypes,
            "unknown dtype; see stretto_dtype in stretto.h");
    require(op >= 0 && op < stretto::kReduceOps, "unknown op; see stretto_op in stretto.h");
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
    return {collective, send, recv, count, static_cast<Dtype>(dtype), static_cast<ReduceOp>(op),
            root};
}

stretto_status play(stretto_comm comm, Collective collective, const void *send, void *recv,
                    std::size_t count, int dtype, int op, int root) {
    return guarded([&] {
        const Request request = checked(comm, collective, send, recv, count, dtype, op, root);
        comm->communicator.play(request);
    });
}

stretto_status make_request(stretto_comm comm, stretto_request *request, bool persistent,
                            Collective collective, const void *send, void *recv, std::size_t count,
                            int dtype, int op, int root) {
    return guarded([&] {
        require(request != nullptr, "the place for the request is NULL");
        *request = nullptr;
        const Request what = checked(comm, collective, send, recv, count, dtype, op, root);
        auto made =
            std::make_unique<stretto_request_s>(stretto_request_s{comm, what, persistent, nullptr});
        if (!persistent)
            made->flight = comm->communicator.start(what);
        else
            (void)comm->communicator.chosen(what); // plans now, so that starting costs nothing
        comm->requests.insert(made.get());
        *request = made.release();
    });
}

void release(stretto_request request) {
    request->comm->requests.erase(request);
    delete request;
}

} // namespace

extern "C" {

stretto_status stretto_init(stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr, "the place for the communicator is NULL");
        *comm = new stretto_comm_s(stretto::comm::identify());
    });
}

stretto_status stretto_init_explicit(int rank, int size, const char *job, stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr, "the place for the communicator is NULL");
        require(size >= 1 && rank >= 0 && rank < size, "rank must lie in 0 ... size - 1");
        require(job != nullptr && *job != '\0', "the job needs a name");
        *comm = new stretto_comm_s({rank, size, job, "stretto_init_explicit"});
    });
}

stretto_status stretto_finalize(stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr && *comm != nullptr, "the communicator is NULL");
        const std::unique_ptr<stretto_comm_s> owned(*comm);
        *comm = nullptr;
        while (!owned->requests.empty()) {
            stretto_request request = *owned->requests.begin();
            if (request->flight != nullptr)
                owned->communicator.queue().wait(*request->flight); // its error is nobody's now
            release(request);
        }
    });
}

int stretto_rank(stretto_comm comm) {
    return comm->communicator.rank();
}
int stretto_size(stretto_comm comm) {
    return comm->communicator.size();
}

const char *stretto_last_error(void) {
    return last_error.c_str();
}

const char *stretto_status_name(stretto_status status) {
    return stretto::name(static_cast<Status>(status));
}

const char *stretto_version(void) {
    return STRETTO_VERSION_TEXT;
}

stretto_status stretto_alloc(stretto_comm comm, size_t bytes, void **memory) {
    return guarded([&] {
        require(comm != nullptr && memory != nullptr, "the communicator or the result is NULL");
        *memory = comm->communicator.heap().allocate(bytes);
    });
}

stretto_status stretto_free(stretto_comm comm, void *memory) {
    return guarded([&] {
        require(comm != nullptr, "the communicator is NULL");
        if (memory != nullptr)
            comm->communicator.heap().free(memory);
    });
}

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
        comm->requests.insert(made.get());
        *request = made.release();
    });
}

stretto_status stretto_allreduce_init(stretto_comm comm, const void *send, void *recv, size_t count,
                                      stretto_dtype dtype, stretto_op op,
                                      stretto_request *request) {
    return make_request(comm, request, true, Collective::allreduce, send, recv, count, dtype, op,
                        0);
}

stretto_status stretto_start(stretto_request request) {
    return guarded([&] {
        require(request != nullptr && request->persistent, "the request is not a persistent one");
        require(request->flight == nullptr, "the request runs already; wait for it first");
        request->flight = request->comm->communicator.start(request->request);
    });
}

stretto_status stretto_wait(stretto_request *request) {
    return guarded([&] {
        require(request != nullptr, "the request is NULL");
        stretto_request_s *what = *request;
        if (what == nullptr || (what->persistent && what->flight == nullptr))
            return; // already ended
        stretto::engine::Queue &queue = what->comm->communicator.queue();
        stretto::engine::Queue::Flight *flight = what->flight;
        queue.wait(*flight);
        what->flight = nullptr;
        if (!what->persistent) {
            release(what);
            *request = nullptr;
        }
        queue.land(flight);
    });
}

stretto_status stretto_test(stretto_request *request, int *done) {
    return guarded([&] {
        require(request != nullptr && done != nullptr, "the request or the result is NULL");
        stretto_request_s *what = *request;
        *done = what == nullptr || what->flight == nullptr ||
                what->comm->communicator.queue().test(*what->flight);
        if (*done != 0) {
            const stretto_status status = stretto_wait(request);
            if (status != STRETTO_OK)
                throw Error(static_cast<Status>(status), std::string(last_error));
        }
    });
}

stretto_status stretto_request_free(stretto_request *request) {
    return guarded([&] {
        require(request != nullptr, "the request is NULL");
        if (*request == nullptr)
            return;
        require((*request)->flight == nullptr, "the request is running; wait for it first");
        release(*request);
        *request = nullptr;
    });
}

stretto_status stretto_force_algorithm(stretto_comm comm, const char *algorithm) {
    return guarded([&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->communicator.force(algorithm == nullptr ? "" : algorithm);
    });
}

stretto_status stretto_stats(stretto_comm comm, stretto_stat *lines, size_t capacity,
                             size_t *count) {
    return guarded([&] {
        require(comm != nullptr && count != nullptr, "the communicator or the count is NULL");
        require(capacity == 0 || lines != nullptr, "the lines are NULL");
        comm->shown = comm->communicator.stats();
        *count = comm->shown.size();
        for (const auto &[key, stat] : comm->shown) {
            if (capacity-- == 0)
                break;
            *lines++ = {stretto::schedule::name(key.first).data(),
                        key.second.c_str(),
                        stat.calls,
                        stat.bytes,
                        stat.seconds,
                        stat.waiting_seconds,
                        stat.messages,
                        stat.bytes_copied,
                        stat.bytes_reduced};
        }
    });
}

stretto_status stretto_stats_reset(stretto_comm comm) {
    return guarded([&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->communicator.reset_stats();
    });
}

stretto_status stretto_chosen_algorithm(stretto_comm comm, const char *collective, size_t count,
                                        stretto_dtype dtype, const char **algorithm) {
    return guarded([&] {
        require(comm != nullptr && collective != nullptr && algorithm != nullptr,
                "an argument is NULL");
        const auto which = stretto::schedule::collective_named(collective);
        if (!which)
            throw Error(Status::argument, "there is no collective '" + std::string(collective) +
                                              "'; allreduce, reduce, broadcast, reduce_scatter, "
                                              "allgather and barrier exist");
        Request request = *which == Collective::barrier
                              ? comm->communicator.barrier_request()
                              : checked(comm, *which, STRETTO_IN_PLACE, nullptr, 0, dtype, 0,
                                        comm->communicator.rank());
        if (*which != Collective::barrier)
            request.count = count;
        request.root = 0;
        *algorithm = comm->communicator.chosen(request).c_str();
    });
}

stretto_status stretto_probe(stretto_comm comm, double *nanoseconds_per_line) {
    return guarded([&] {
        require(comm != nullptr && nanoseconds_per_line != nullptr, "an argument is NULL");
        *nanoseconds_per_line = comm->communicator.probe();
    });
}

} // extern "C"
