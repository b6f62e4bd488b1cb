/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers in the memory of a simulated device: on some ranks what is sent, on others where results
 * go. */
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

/* Of CUDA's driver. */
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes);

static void *device_alloc(size_t bytes) {
    unsigned long long address = 0;
    CHECK(cuMemAlloc_v2(&address, bytes) == 0);
    return (void *)(uintptr_t)address;
}

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

static void nonblocking(int use) {
    MPI_Request request = MPI_REQUEST_NULL;
    const size_t salt = next_salt();
    int *const send = memory(use, N), *const recv = memory(use / 2, N);
    int mine[N], sums[N];
    fill(mine, N, world.rank, salt);
    for (size_t i = 0; i < N; ++i)
        sums[i] = sum_of_numbers(world.size, salt + i);
    set(send, mine, N);
    MPI_Barrier(MPI_COMM_WORLD); /* makes what a nonblocking call needs */
    MPI_Iallreduce(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_is(recv, sums, N);
}

/* What cannot be done is an error on all ranks, and not the end of the process. */
static void gaps(void) {
    MPI_Comm comm;
    MPI_Datatype every_second;
    int *const both = device_alloc(4 * sizeof(int));
    MPI_Type_vector(2, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK(MPI_Bcast(both, 1, every_second, 0, comm) != MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPI_Type_free(&every_second);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    void *context = NULL;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
    for (int use = 0; use < 4; ++use) {
        collectives(use);
        nonblocking(use);
    }
    gaps();
    return finish();
}
