// SPDX-License-Identifier: BSD-3-Clause
// The functions in front of the MPI library: their names and parameters.
//
// Both names of a function are Stretto's, MPI_Allreduce and PMPI_Allreduce: whichever a rank calls,
// Stretto runs the call, so ranks never disagree.  Open MPI's Fortran calls (mpif.h, the modules
// mpi and mpi_f08) are made of PMPI_ functions, those of MPICH and Intel MPI of MPI_ functions.
//
//     program --> MPI_Allreduce of a tool before Stretto --> PMPI_Allreduce   Stretto runs it
//     program --> MPI_Allreduce --> a tool behind Stretto, if there is one --> PMPI_Allreduce
//     program --> MPI_Allreduce, without a tool: Stretto runs it
#pragma once

#include <cstdint>

#include "abi.hpp"

using stretto::mpi::Handle;

// clang-format off
#define STRETTO_START_FUNCTIONS(X)                                                                 \
    X(Init, (int *argc, char ***argv), (argc, argv))                                               \
    X(Init_thread,                                                                                 \
      (int *argc, char ***argv, int required, int *provided),                                      \
      (argc, argv, required, provided))                                                            \
    X(Finalize, (), ())

#define STRETTO_CALL_FUNCTIONS(X)                                                                  \
    X(Allreduce,                                                                                   \
      (const void *send, void *recv, int count, Handle datatype, Handle op, Handle comm),          \
      (send, recv, count, datatype, op, comm))                                                     \
    X(Allreduce_c,                                                                                 \
      (const void *send, void *recv, std::int64_t count, Handle datatype, Handle op, Handle        \
      comm),                                                                                       \
      (send, recv, count, datatype, op, comm))                                                     \
    X(Reduce,                                                                                      \
      (const void *send, void *recv, int count, Handle datatype, Handle op, int root, Handle       \
      comm),                                                                                       \
      (send, recv, count, datatype, op, root, comm))                                               \
    X(Reduce_c,                                                                                    \
      (const void *send, void *recv, std::int64_t count, Handle datatype, Handle op, int root,     \
      Handle comm),                                                                                \
      (send, recv, count, datatype, op, root, comm))                                               \
    X(Bcast,                                                                                       \
      (void *buffer, int count, Handle datatype, int root, Handle comm),                           \
      (buffer, count, datatype, root, comm))                                                       \
    X(Bcast_c,                                                                                     \
      (void *buffer, std::int64_t count, Handle datatype, int root, Handle comm),                  \
      (buffer, count, datatype, root, comm))                                                       \
    X(Allgather,                                                                                   \
      (const void *send, int send_count, Handle send_datatype, void *recv, int recv_count,         \
      Handle recv_datatype, Handle comm),                                                          \
      (send, send_count, send_datatype, recv, recv_count, recv_datatype, comm))                    \
    X(Allgather_c,                                                                                 \
      (const void *send, std::int64_t send_count, Handle send_datatype, void *recv, std::int64_t   \
      recv_count, Handle recv_datatype, Handle comm),                                              \
      (send, send_count, send_datatype, recv, recv_count, recv_datatype, comm))                    \
    X(Reduce_scatter_block,                                                                        \
      (const void *send, void *recv, int count, Handle datatype, Handle op, Handle comm),          \
      (send, recv, count, datatype, op, comm))                                                     \
    X(Reduce_scatter_block_c,                                                                      \
      (const void *send, void *recv, std::int64_t count, Handle datatype, Handle op, Handle        \
      comm),                                                                                       \
      (send, recv, count, datatype, op, comm))                                                     \
    X(Reduce_scatter,                                                                              \
      (const void *send, void *recv, const int *counts, Handle datatype, Handle op, Handle         \
      comm),                                                                                       \
      (send, recv, counts, datatype, op, comm))                                                    \
    X(Reduce_scatter_c,                                                                            \
      (const void *send, void *recv, const std::int64_t *counts, Handle datatype, Handle op,       \
      Handle comm),                                                                                \
      (send, recv, counts, datatype, op, comm))                                                    \
    X(Barrier, (Handle comm), (comm))                                                              \
    X(Iallreduce,                                                                                  \
      (const void *send, void *recv, int count, Handle datatype, Handle op, Handle comm, void      \
      *request),                                                                                   \
      (send, recv, count, datatype, op, comm, request))                                            \
    X(Iallreduce_c,                                                                                \
      (const void *send, void *recv, std::int64_t count, Handle datatype, Handle op, Handle        \
      comm, void *request),                                                                        \
      (send, recv, count, datatype, op, comm, request))                                            \
    X(Allreduce_init,                                                                              \
      (const void *send, void *recv, int count, Handle datatype, Handle op, Handle comm, Handle    \
      info, void *request),                                                                        \
      (send, recv, count, datatype, op, comm, info, request))                                      \
    X(Allreduce_init_c,                                                                            \
      (const void *send, void *recv, std::int64_t count, Handle datatype, Handle op, Handle        \
      comm, Handle info, void *request),                                                           \
      (send, recv, count, datatype, op, comm, info, request))                                      \
    X(Wait, (void *request, void *status), (request, status))                                      \
    X(Waitall, (int count, void *requests, void *statuses), (count, requests, statuses))           \
    X(Waitany,                                                                                     \
      (int count, void *requests, int *index, void *status),                                       \
      (count, requests, index, status))                                                            \
    X(Waitsome,                                                                                    \
      (int count, void *requests, int *ended, int *indices, void *statuses),                       \
      (count, requests, ended, indices, statuses))                                                 \
    X(Test, (void *request, int *flag, void *status), (request, flag, status))                     \
    X(Testall,                                                                                     \
      (int count, void *requests, int *flag, void *statuses),                                      \
      (count, requests, flag, statuses))                                                           \
    X(Testany,                                                                                     \
      (int count, void *requests, int *index, int *flag, void *status),                            \
      (count, requests, index, flag, status))                                                      \
    X(Testsome,                                                                                    \
      (int count, void *requests, int *ended, int *indices, void *statuses),                       \
      (count, requests, ended, indices, statuses))                                                 \
    X(Request_get_status, (Handle request, int *flag, void *status), (request, flag, status))      \
    X(Request_get_status_all,                                                                      \
      (int count, const void *requests, int *flag, void *statuses),                                \
      (count, requests, flag, statuses))                                                           \
    X(Request_get_status_any,                                                                      \
      (int count, const void *requests, int *index, int *flag, void *status),                      \
      (count, requests, index, flag, status))                                                      \
    X(Request_get_status_some,                                                                     \
      (int count, const void *requests, int *ended, int *indices, void *statuses),                 \
      (count, requests, ended, indices, statuses))                                                 \
    X(Start, (void *request), (request))                                                           \
    X(Startall, (int count, void *requests), (count, requests))                                    \
    X(Request_free, (void *request), (request))                                                    \
    X(Cancel, (void *request), (request))                                                          \
    X(Win_create,                                                                                  \
      (void *base, std::intptr_t size, int unit, Handle info, Handle comm, void *window),          \
      (base, size, unit, info, comm, window))                                                      \
    X(Win_create_c,                                                                                \
      (void *base, std::intptr_t size, std::intptr_t unit, Handle info, Handle comm, void          \
      *window),                                                                                    \
      (base, size, unit, info, comm, window))                                                      \
    X(Win_allocate,                                                                                \
      (std::intptr_t size, int unit, Handle info, Handle comm, void *base, void *window),          \
      (size, unit, info, comm, base, window))                                                      \
    X(Win_allocate_c,                                                                              \
      (std::intptr_t size, std::intptr_t unit, Handle info, Handle comm, void *base, void          \
      *window),                                                                                    \
      (size, unit, info, comm, base, window))                                                      \
    X(Win_allocate_shared,                                                                         \
      (std::intptr_t size, int unit, Handle info, Handle comm, void *base, void *window),          \
      (size, unit, info, comm, base, window))                                                      \
    X(Win_allocate_shared_c,                                                                       \
      (std::intptr_t size, std::intptr_t unit, Handle info, Handle comm, void *base, void          \
      *window),                                                                                    \
      (size, unit, info, comm, base, window))                                                      \
    X(Win_create_dynamic, (Handle info, Handle comm, void *window), (info, comm, window))

#define STRETTO_FRONT_FUNCTIONS(X) STRETTO_START_FUNCTIONS(X) STRETTO_CALL_FUNCTIONS(X)
// clang-format on

extern "C" {
#define STRETTO_DECLARE(name, parameters, arguments) int PMPI_##name parameters;
STRETTO_FRONT_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
}
