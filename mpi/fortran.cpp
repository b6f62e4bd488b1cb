// SPDX-License-Identifier: BSD-3-Clause
// The Fortran calls (mpif.h, the module mpi).  MPICH and its relatives make them of the C
// functions, which are ours; Open MPI goes past those, so its Fortran calls are taken here.
#include <algorithm>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

#include "requests.hpp"

using namespace stretto::mpi;

extern "C" {
int MPI_Allreduce(const void *, void *, int, Handle, Handle, Handle);
int MPI_Reduce(const void *, void *, int, Handle, Handle, int, Handle);
int MPI_Bcast(void *, int, Handle, int, Handle);
int MPI_Allgather(const void *, int, Handle, void *, int, Handle, Handle);
int MPI_Reduce_scatter_block(const void *, void *, int, Handle, Handle, Handle);
int MPI_Reduce_scatter(const void *, void *, const int *, Handle, Handle, Handle);
int MPI_Barrier(Handle);
int MPI_Iallreduce(const void *, void *, int, Handle, Handle, Handle, void *);
int MPI_Allreduce_init(const void *, void *, int, Handle, Handle, Handle, Handle, void *);
}

namespace {

// How handles and special addresses of Fortran become those of C.
struct Fortran {
    using FromInteger = Handle (*)(int);
    FromInteger comm, datatype, op, request, info;
    int (*to_integer)(Handle request);
    const void *in_place, *bottom;
    // Whether calls are taken here: of Open MPI, with integers of 4 bytes.
    bool ours;

    static const Fortran &get() {
        static const Fortran fortran;
        return fortran;
    }
    const void *address(const void *buffer) const {
        if (buffer == in_place)
            return Host::get().abi().in_place;
        return buffer == bottom ? nullptr : buffer;
    }
    void *address(void *buffer) const {
        return const_cast<void *>(address(static_cast<const void *>(buffer)));
    }
    std::vector<Handle> requests(const int *integers, int count) const {
        std::vector<Handle> handles;
        for (int i = 0; i < count; ++i)
            handles.push_back(request(integers[i]));
        return handles;
    }

private:
    Fortran() {
        const Loaded &mpi = Host::get().mpi();
        const auto function = [&](const char *name) {
            return reinterpret_cast<FromInteger>(symbol(mpi, name));
        };
        comm = function("PMPI_Comm_f2c");
        datatype = function("PMPI_Type_f2c");
        op = function("PMPI_Op_f2c");
        request = function("PMPI_Request_f2c");
        info = function("PMPI_Info_f2c");
        to_integer = reinterpret_cast<int (*)(Handle)>(symbol(mpi, "PMPI_Request_c2f"));
        in_place = symbol(mpi, "mpi_fortran_in_place_");
        bottom = symbol(mpi, "mpi_fortran_bottom_");
        int bytes = 0;
        const auto integer = reinterpret_cast<Handle>(symbol(mpi, "ompi_mpi_integer"));
        ours = mpi.known && mpi.abi.interface == Interface::open_mpi && comm != nullptr &&
               datatype != nullptr && op != nullptr && request != nullptr && info != nullptr &&
               to_integer != nullptr && in_place != nullptr && bottom != nullptr && integer != 0 &&
               Host::get().Type_size(integer, &bytes) == 0 && bytes == sizeof(int);
    }
};

const Fortran &fortran() {
    return Fortran::get();
}

template<std::size_t N>
struct Name {
    char text[N] = "";
    consteval Name(const char (&name)[N]) { std::copy(name, name + N, text); }
};

// The library's own function of this name, looked up once.
template<Name name, class... Arguments>
void library(Arguments... arguments) {
    static void *const found = dlsym(RTLD_NEXT, name.text);
    if (found != nullptr)
        reinterpret_cast<void (*)(Arguments...)>(found)(arguments...);
    else
        say(std::string("the program calls ") + name.text +
            ", which its MPI library does not have");
}

// Before the library waits for these requests: those of Stretto's end.
void bring_to_end(const int *requests, int count) {
    if (!any_pending() || !fortran().ours)
        return;
    for (int i = 0; i < count; ++i)
        (void)stretto::mpi::bring_to_end(fortran().request(requests[i]));
}

void look_at(const int *requests, int count) {
    if (!any_pending() || !fortran().ours)
        return;
    const std::vector<Handle> handles = fortran().requests(requests, count);
    (void)advance(handles.data(), count);
}

// Waits by looking at Stretto's requests and testing them all in turns.
template<class Test>
void wait_for_any(const int *requests, int count, Test &&over) {
    for (int looks = 0;; ++looks) {
        look_at(requests, count);
        if (over())
            return;
        if (looks < 100)
            sched_yield();
        else
            usleep(50);
    }
}

bool any_ours(const int *requests, int count) {
    if (!any_pending() || !fortran().ours)
        return false;
    for (const Handle each : fortran().requests(requests, count))
        if (is_ours(each))
            return true;
    return false;
}

} // namespace

extern "C" {

void mpi_init_(int *error) {
    library<"mpi_init_">(error);
    if (*error == 0)
        World::start();
}

void mpi_init_thread_(int *required, int *provided, int *error) {
    library<"mpi_init_thread_">(required, provided, error);
    if (*error == 0)
        World::start();
}

void mpi_finalize_(int *error) {
    World::finish();
    library<"mpi_finalize_">(error);
}

void mpi_allreduce_(void *send, void *recv, int *count, int *datatype, int *op, int *comm,
                    int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_allreduce_">(send, recv, count, datatype, op, comm, error);
    *error = MPI_Allreduce(f.address(send), f.address(recv), *count, f.datatype(*datatype),
                           f.op(*op), f.comm(*comm));
}

void mpi_reduce_(void *send, void *recv, int *count, int *datatype, int *op, int *root, int *comm,
                 int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_reduce_">(send, recv, count, datatype, op, root, comm, error);
    *error = MPI_Reduce(f.address(send), f.address(recv), *count, f.datatype(*datatype), f.op(*op),
                        *root, f.comm(*comm));
}

void mpi_bcast_(void *buffer, int *count, int *datatype, int *root, int *comm, int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_bcast_">(buffer, count, datatype, root, comm, error);
    *error = MPI_Bcast(f.address(buffer), *count, f.datatype(*datatype), *root, f.comm(*comm));
}

void mpi_allgather_(void *send, int *send_count, int *send_datatype, void *recv, int *recv_count,
                    int *recv_datatype, int *comm, int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_allgather_">(send, send_count, send_datatype, recv, recv_count,
                                         recv_datatype, comm, error);
    *error = MPI_Allgather(f.address(send), *send_count, f.datatype(*send_datatype),
                           f.address(recv), *recv_count, f.datatype(*recv_datatype), f.comm(*comm));
}

void mpi_reduce_scatter_block_(void *send, void *recv, int *count, int *datatype, int *op,
                               int *comm, int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_reduce_scatter_block_">(send, recv, count, datatype, op, comm, error);
    *error = MPI_Reduce_scatter_block(f.address(send), f.address(recv), *count,
                                      f.datatype(*datatype), f.op(*op), f.comm(*comm));
}

void mpi_reduce_scatter_(void *send, void *recv, int *counts, int *datatype, int *op, int *comm,
                         int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_reduce_scatter_">(send, recv, counts, datatype, op, comm, error);
    *error = MPI_Reduce_scatter(f.address(send), f.address(recv), counts, f.datatype(*datatype),
                                f.op(*op), f.comm(*comm));
}

void mpi_barrier_(int *comm, int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_barrier_">(comm, error);
    *error = MPI_Barrier(f.comm(*comm));
}

void mpi_iallreduce_(void *send, void *recv, int *count, int *datatype, int *op, int *comm,
                     int *request, int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_iallreduce_">(send, recv, count, datatype, op, comm, request, error);
    Handle made = Host::get().abi().request_null;
    *error = MPI_Iallreduce(f.address(send), f.address(recv), *count, f.datatype(*datatype),
                            f.op(*op), f.comm(*comm), &made);
    if (*error == 0)
        *request = f.to_integer(made);
}

void mpi_allreduce_init_(void *send, void *recv, int *count, int *datatype, int *op, int *comm,
                         int *info, int *request, int *error) {
    const Fortran &f = fortran();
    if (!f.ours)
        return library<"mpi_allreduce_init_">(send, recv, count, datatype, op, comm, info, request,
                                              error);
    Handle made = Host::get().abi().request_null;
    *error = MPI_Allreduce_init(f.address(send), f.address(recv), *count, f.datatype(*datatype),
                                f.op(*op), f.comm(*comm), f.info(*info), &made);
    if (*error == 0)
        *request = f.to_integer(made);
}

void mpi_wait_(int *request, int *status, int *error) {
    bring_to_end(request, 1);
    library<"mpi_wait_">(request, status, error);
}

void mpi_waitall_(int *count, int *requests, int *statuses, int *error) {
    bring_to_end(requests, *count);
    library<"mpi_waitall_">(count, requests, statuses, error);
}

void mpi_waitany_(int *count, int *requests, int *index, int *status, int *error) {
    if (!any_ours(requests, *count))
        return library<"mpi_waitany_">(count, requests, index, status, error);
    wait_for_any(requests, *count, [&] {
        int flag = 0;
        library<"mpi_testany_">(count, requests, index, &flag, status, error);
        return flag != 0 || *error != 0;
    });
}

void mpi_waitsome_(int *count, int *requests, int *ended, int *indices, int *statuses, int *error) {
    if (!any_ours(requests, *count))
        return library<"mpi_waitsome_">(count, requests, ended, indices, statuses, error);
    wait_for_any(requests, *count, [&] {
        library<"mpi_testsome_">(count, requests, ended, indices, statuses, error);
        return *ended != 0 || *error != 0;
    });
}

void mpi_test_(int *request, int *flag, int *status, int *error) {
    look_at(request, 1);
    library<"mpi_test_">(request, flag, status, error);
}

void mpi_testall_(int *count, int *requests, int *flag, int *statuses, int *error) {
    look_at(requests, *count);
    library<"mpi_testall_">(count, requests, flag, statuses, error);
}

void mpi_testany_(int *count, int *requests, int *index, int *flag, int *status, int *error) {
    look_at(requests, *count);
    library<"mpi_testany_">(count, requests, index, flag, status, error);
}

void mpi_testsome_(int *count, int *requests, int *ended, int *indices, int *statuses, int *error) {
    look_at(requests, *count);
    library<"mpi_testsome_">(count, requests, ended, indices, statuses, error);
}

void mpi_request_get_status_(int *request, int *flag, int *status, int *error) {
    look_at(request, 1);
    library<"mpi_request_get_status_">(request, flag, status, error);
}

void mpi_start_(int *request, int *error) {
    library<"mpi_start_">(request, error);
    if (*error == 0 && any_pending() && fortran().ours)
        *error = started(fortran().request(*request));
}

void mpi_startall_(int *count, int *requests, int *error) {
    library<"mpi_startall_">(count, requests, error);
    for (int i = 0; i < *count && *error == 0 && any_pending() && fortran().ours; ++i)
        *error = started(fortran().request(requests[i]));
}

void mpi_request_free_(int *request, int *error) {
    if (any_pending() && fortran().ours)
        (void)release(fortran().request(*request));
    library<"mpi_request_free_">(request, error);
}

} // extern "C"
