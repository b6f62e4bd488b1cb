// SPDX-License-Identifier: BSD-3-Clause
// The MPI library of the program: its own functions, which Stretto's functions stand in front of.
#pragma once

#include <cstdint>

#include "abi.hpp"

namespace stretto::mpi {

// The names without MPI_, and the parameters.  Handles are as wide as pointers, also as results:
// narrower ones fill the lower half.
#define STRETTO_HOST_FUNCTIONS(X)                                                                  \
    X(Init, int *, char ***)                                                                       \
    X(Init_thread, int *, char ***, int, int *)                                                    \
    X(Finalize)                                                                                    \
    X(Comm_rank, Handle, int *)                                                                    \
    X(Comm_size, Handle, int *)                                                                    \
    X(Comm_test_inter, Handle, int *)                                                              \
    X(Comm_group, Handle, Handle *)                                                                \
    X(Comm_split, Handle, int, int, Handle *)                                                      \
    X(Comm_free, Handle *)                                                                         \
    X(Comm_create_keyval, void *, void *, int *, void *)                                           \
    X(Comm_set_attr, Handle, int, void *)                                                          \
    X(Comm_get_attr, Handle, int, void *, int *)                                                   \
    X(Comm_call_errhandler, Handle, int)                                                           \
    X(Group_translate_ranks, Handle, int, const int *, Handle, int *)                              \
    X(Group_free, Handle *)                                                                        \
    X(Add_error_class, int *)                                                                      \
    X(Add_error_code, int, int *)                                                                  \
    X(Add_error_string, int, const char *)                                                         \
    X(Error_string, int, char *, int *)                                                            \
    X(Get_library_version, char *, int *)                                                          \
    X(Type_size, Handle, int *)                                                                    \
    X(Type_size_x, Handle, std::int64_t *)                                                         \
    X(Type_get_extent, Handle, std::intptr_t *, std::intptr_t *)                                   \
    X(Type_get_true_extent, Handle, std::intptr_t *, std::intptr_t *)                              \
    X(Type_get_envelope, Handle, int *, int *, int *, int *)                                       \
    X(Type_get_contents, Handle, int, int, int, int *, std::intptr_t *, Handle *)                  \
    X(Type_create_hindexed, int, const int *, const std::intptr_t *, Handle, Handle *)             \
    X(Type_commit, Handle *)                                                                       \
    X(Type_free, Handle *)                                                                         \
    X(Pack, const void *, int, Handle, void *, int, int *, Handle)                                 \
    X(Unpack, const void *, int, int *, void *, int, Handle, Handle)                               \
    X(Op_commutative, Handle, int *)                                                               \
    X(Reduce_local, const void *, void *, int, Handle, Handle)                                     \
    X(Iprobe, int, int, Handle, int *, void *)                                                     \
    X(Irecv, void *, int, Handle, int, int, Handle, Handle *)                                      \
    X(Recv_init, void *, int, Handle, int, int, Handle, Handle *)                                  \
    X(Send, const void *, int, Handle, int, int, Handle)                                           \
    X(Recv, void *, int, Handle, int, int, Handle, void *)                                         \
    X(Start, void *)                                                                               \
    X(Startall, int, void *)                                                                       \
    X(Wait, void *, void *)                                                                        \
    X(Test, void *, int *, void *)                                                                 \
    X(Waitall, int, void *, void *)                                                                \
    X(Testall, int, void *, int *, void *)                                                         \
    X(Waitany, int, void *, int *, void *)                                                         \
    X(Testany, int, void *, int *, int *, void *)                                                  \
    X(Waitsome, int, void *, int *, int *, void *)                                                 \
    X(Testsome, int, void *, int *, int *, void *)                                                 \
    X(Request_get_status, Handle, int *, void *)                                                   \
    X(Request_get_status_all, int, const void *, int *, void *)                                    \
    X(Request_get_status_any, int, const void *, int *, int *, void *)                             \
    X(Request_get_status_some, int, const void *, int *, int *, void *)                            \
    X(Request_free, void *)                                                                        \
    X(Cancel, void *)                                                                              \
    X(Win_create, void *, std::intptr_t, int, Handle, Handle, void *)                              \
    X(Win_create_c, void *, std::intptr_t, std::intptr_t, Handle, Handle, void *)                  \
    X(Win_allocate, std::intptr_t, int, Handle, Handle, void *, void *)                            \
    X(Win_allocate_c, std::intptr_t, std::intptr_t, Handle, Handle, void *, void *)                \
    X(Win_allocate_shared, std::intptr_t, int, Handle, Handle, void *, void *)                     \
    X(Win_allocate_shared_c, std::intptr_t, std::intptr_t, Handle, Handle, void *, void *)         \
    X(Win_create_dynamic, Handle, Handle, void *)                                                  \
    X(Allreduce, const void *, void *, int, Handle, Handle, Handle)                                \
    X(Reduce, const void *, void *, int, Handle, Handle, int, Handle)                              \
    X(Bcast, void *, int, Handle, int, Handle)                                                     \
    X(Allgather, const void *, int, Handle, void *, int, Handle, Handle)                           \
    X(Reduce_scatter_block, const void *, void *, int, Handle, Handle, Handle)                     \
    X(Reduce_scatter, const void *, void *, const int *, Handle, Handle, Handle)                   \
    X(Barrier, Handle)                                                                             \
    X(Iallreduce, const void *, void *, int, Handle, Handle, Handle, void *)                       \
    X(Allreduce_init, const void *, void *, int, Handle, Handle, Handle, Handle, void *)           \
    X(Allreduce_c, const void *, void *, std::int64_t, Handle, Handle, Handle)                     \
    X(Reduce_c, const void *, void *, std::int64_t, Handle, Handle, int, Handle)                   \
    X(Bcast_c, void *, std::int64_t, Handle, int, Handle)                                          \
    X(Allgather_c, const void *, std::int64_t, Handle, void *, std::int64_t, Handle, Handle)       \
    X(Reduce_scatter_block_c, const void *, void *, std::int64_t, Handle, Handle, Handle)          \
    X(Reduce_scatter_c, const void *, void *, const std::int64_t *, Handle, Handle, Handle)        \
    X(Iallreduce_c, const void *, void *, std::int64_t, Handle, Handle, Handle, void *)            \
    X(Allreduce_init_c, const void *, void *, std::int64_t, Handle, Handle, Handle, Handle, void *)

class MpiLibrary {
public:
    // The library of this process; the first call looks for it.
    static const MpiLibrary &get();

    const Loaded &mpi() const { return mpi_; }
    const Abi &abi() const { return mpi_.abi; }

    // If the library lacks a function, the pointer is a function that prints this and returns an
    // error; except for functions that statuses.hpp makes of others.
#define STRETTO_DECLARE(name, ...) int (*name)(__VA_ARGS__) = nullptr;
    STRETTO_HOST_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
    // Whether it has the forms whose counts are longer than an int, MPI_Allreduce_c and its like.
    bool large_counts = false;

private:
    MpiLibrary();

    Loaded mpi_;
};

} // namespace stretto::mpi
