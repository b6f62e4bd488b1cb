/* SPDX-License-Identifier: BSD-3-Clause */
/* A barrier lets no rank go before all have come: seen in memory that belongs to no library. */
#include "parts.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 40 };

/* Rank 0 makes a file for all, and takes its name away again. */
static _Atomic int *shared_counter(const Ranks *of) {
    char path[] = "/tmp/stretto-barrier-XXXXXX";
    int file = -1;
    if (of->rank == 0) {
        file = mkstemp(path);
        if (file < 0 || ftruncate(file, sizeof(int)) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    tell_by_library(path, sizeof path, of->comm);
    if (of->rank != 0)
        file = open(path, O_RDWR | O_CLOEXEC);
    void *const counter = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (counter == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const long long here = 1;
    long long all = 0;
    sum_by_library(&here, &all, 1, of->comm);
    if (of->rank == 0)
        unlink(path);
    return counter;
}

void barriers(const Ranks *of) {
    _Atomic int *const come = shared_counter(of);
    for (int round = 0; round < ROUNDS; ++round) {
        /* Another one comes late each time. */
        if (round % of->size == of->rank)
            for (int i = 0; i < 20; ++i)
                sched_yield();
        atomic_fetch_add(come, 1);
        MPI_Barrier(of->comm);
        CHECK(atomic_load(come) >= (round + 1) * of->size);
    }
    munmap((void *)come, sizeof(int));
}
