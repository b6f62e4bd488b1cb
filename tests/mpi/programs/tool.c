/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool as profilers are: MPI_ functions of its own, in a library or linked into the program.
 * TOOL says which it has and how it goes on:
 *   0  all of them, by PMPI_
 *   1  MPI_Init alone;  2  MPI_Allreduce and MPI_Wait alone;  3  MPI_Finalize alone
 *   4  all of them, by what comes next, past what stands before the tool
 *   5  all of them, by the MPI library's own functions, past everything
 *   6  as 5, MPI_Allreduce and MPI_Wait alone */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int inits, allreduces, waits;

#if TOOL == 4
#define NEXT(name) ((__typeof__(&PMPI_##name))dlsym(RTLD_NEXT, "PMPI_" #name))
#elif TOOL >= 5
static void *own(const char *name) {
    void *const library = dlopen(getenv("TOOL_LIBRARY"), RTLD_LAZY | RTLD_NOLOAD);
    return dlsym(library, name);
}
#define NEXT(name) ((__typeof__(&PMPI_##name))own("PMPI_" #name))
#else
#define NEXT(name) PMPI_##name
#endif

static void tell(void) {
    fprintf(stderr, "tool: %d inits, %d allreduces, %d waits\n", inits, allreduces, waits);
}

#if TOOL != 2 && TOOL != 3 && TOOL != 6
int MPI_Init(int *argc, char ***argv) {
    if (++inits == 1 && TOOL == 1)
        tell();
    return NEXT(Init)(argc, argv);
}
#endif

#if TOOL != 1 && TOOL != 3
int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    if (++allreduces == 10 && (TOOL == 2 || TOOL == 6))
        tell();
    return NEXT(Allreduce)(send, recv, count, type, op, comm);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    ++waits;
    return NEXT(Wait)(request, status);
}
#endif

#if TOOL != 1 && TOOL != 2 && TOOL != 6
int MPI_Finalize(void) {
    tell();
    return NEXT(Finalize)();
}
#endif
