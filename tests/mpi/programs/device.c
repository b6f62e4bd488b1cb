/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers in device memory, of cuda.c: on some ranks what is sent, on others where results go. */
#include "check.h"
#include "cuda.h"

#include <stdlib.h>

enum { N = 300, MOST = 8 };

/* Memory for ints: on the device for some ranks and uses, else the host's. */
static int *memory(int use, size_t n) {
    const bool on_device = (world.rank + use) % 2 == 0;
    return on_device ? device_alloc(n * sizeof(int)) : malloc(n * sizeof(int));
}

static void set(int *at, const int *from, size_t n) {
    cuMemcpy((uintptr_t)at, (uintptr_t)from, n * sizeof(int));
}

static void check_is(const int *at, const int *expected, size_t n) {
    int found[N * MOST];
    cuMemcpy((uintptr_t)found, (uintptr_t)at, n * sizeof(int));
    for (size_t i = 0; i < n; ++i)
        CHECK(found[i] == expected[i]);
}

static void collectives(int use) {
    const size_t salt = next_salt(), ranks = (size_t)world.size, all = N * ranks;
    int mine[N * MOST], sums[N * MOST], everyones[N * MOST], counts[MOST];
    int *const send = memory(use, all), *const recv = memory(use / 2, all);
    fill(mine, all, world.rank, salt);
    for (size_t i = 0; i < all; ++i) {
        sums[i] = sum_of_numbers(world.size, salt + i);
        everyones[i] = number((int)(i / N), salt + i % N);
    }
    for (size_t rank = 0; rank < ranks; ++rank)
        counts[rank] = N;
    const int *const share = sums + (size_t)world.rank * N;
    set(send, mine, all);

    MPI_Allreduce(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_is(recv, sums, N);
    set(recv, mine, N);
    MPI_Allreduce(MPI_IN_PLACE, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_is(recv, sums, N);
    MPI_Reduce(send, recv, N, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
    if (world.rank == 1)
        check_is(recv, sums, N);
    MPI_Allgather(send, N, MPI_INT, recv, N, MPI_INT, MPI_COMM_WORLD);
    check_is(recv, everyones, all);
    MPI_Reduce_scatter_block(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_is(recv, share, N);
    MPI_Reduce_scatter(send, recv, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_is(recv, share, N);
    set(recv, world.rank == 0 ? sums : mine, N);
    MPI_Bcast(recv, N, MPI_INT, 0, MPI_COMM_WORLD);
    check_is(recv, sums, N);
    check_is(send, mine, all);
}

/* What cannot be done is an error on all ranks, and not the end of the process. */
static void nonblocking(void) {
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    int *const recv = device_alloc(N * sizeof(int));
    int mine[N] = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Iallreduce(mine, mine + 1, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm); /* makes what a nonblocking call needs */
    CHECK(MPI_Iallreduce(mine, recv, N, MPI_INT, MPI_SUM, comm, &request) != MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int use = 0; use < 4; ++use)
        collectives(use);
    nonblocking();
    return finish();
}
