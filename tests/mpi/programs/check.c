/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>

enum { MARGIN = 64, POISON = 0xa5, FAILURES_SHOWN = 5 };

Ranks world;

static long long checks, failures;

Ranks ranks_of(MPI_Comm comm) {
    Ranks ranks = {comm, 0, 1};
    MPI_Comm_rank(comm, &ranks.rank);
    MPI_Comm_size(comm, &ranks.size);
    return ranks;
}

void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    world = ranks_of(MPI_COMM_WORLD);
}

int start_threads(int *argc, char ***argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    world = ranks_of(MPI_COMM_WORLD);
    return provided;
}

int finish(void) {
    const long long mine[2] = {checks, failures};
    long long all[2] = {0, 1};
    sum_by_library(mine, all, 2, MPI_COMM_WORLD);
    if (world.rank == 0)
        printf("%lld checks, %lld failed\n", all[0], all[1]);
    MPI_Finalize();
    return all[1] != 0;
}

void tell_by_library(void *what, int bytes, MPI_Comm comm) {
    const Ranks of = ranks_of(comm);
    char *const copies = malloc((size_t)of.size * (size_t)bytes);
    for (int rank = 0; rank < of.size && of.rank == 0; ++rank)
        memcpy(copies + (size_t)rank * (size_t)bytes, what, (size_t)bytes);
    MPI_Scatter(copies, bytes, MPI_CHAR, what, bytes, MPI_CHAR, 0, comm);
    free(copies);
}

void sum_by_library(const long long *mine, long long *sums, int n, MPI_Comm comm) {
    const Ranks of = ranks_of(comm);
    long long *const all = malloc((size_t)of.size * (size_t)n * sizeof *all);
    MPI_Gather(mine, n, MPI_LONG_LONG, all, n, MPI_LONG_LONG, 0, comm);
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int i = 0; i < of.size * n && of.rank == 0; ++i)
        sums[i % n] += all[i];
    tell_by_library(sums, n * (int)sizeof *sums, comm);
    free(all);
}

void check_that(bool good, const char *condition, const char *file, int line) {
    __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);
    if (!good && __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED) < FAILURES_SHOWN)
        fprintf(stderr, "rank %d of %d: %s:%d: %s\n", world.rank, world.size, file, line,
                condition);
}

static size_t salt;

void begin_salts(size_t first) {
    salt = first;
}

size_t next_salt(void) {
    return salt += 17;
}

typedef struct Guard {
    size_t bytes, shift;
} Guard;

/* It lies before the margin, wherever that is. */
static Guard guard_of(const void *guarded) {
    Guard guard;
    memcpy(&guard, (const char *)guarded - MARGIN - sizeof guard, sizeof guard);
    return guard;
}

void *guarded(size_t bytes, size_t shift) {
    const Guard guard = {bytes, shift};
    char *const base = malloc(sizeof guard + MARGIN + shift + bytes + MARGIN);
    if (base == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    char *const head = base + shift;
    memcpy(head, &guard, sizeof guard);
    memset(head + sizeof guard, POISON, MARGIN + bytes + MARGIN);
    return head + sizeof guard + MARGIN;
}

void poison(void *guarded) {
    memset(guarded, POISON, guard_of(guarded).bytes);
}

void unguard(void *guarded) {
    const Guard guard = guard_of(guarded);
    const unsigned char *const before = (const unsigned char *)guarded - MARGIN;
    const unsigned char *const after = (const unsigned char *)guarded + guard.bytes;
    bool untouched = true;
    for (int i = 0; i < MARGIN; ++i)
        untouched = untouched && before[i] == POISON && after[i] == POISON;
    CHECK(untouched);
    free((char *)guarded - MARGIN - sizeof guard - guard.shift);
}

void fill(void *at, size_t n, int rank, size_t first) {
    for (size_t i = 0; i < n; ++i)
        put(at, i, number(rank, first + i));
}

void check_filled(const void *at, size_t n, int rank, size_t first) {
    for (size_t i = 0; i < n; ++i)
        CHECK(get(at, i) == number(rank, first + i));
}

void check_sums(const void *at, size_t n, int ranks, size_t first) {
    for (size_t i = 0; i < n; ++i)
        CHECK(get(at, i) == sum_of_numbers(ranks, first + i));
}
