/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs share: checks that are counted over all ranks, numbers that depend on rank and
 * index, and buffers that say when something beside them was written. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The calls of MPI 4, whose counts are longer than an int. */
#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#endif
/* Open MPI 5 has persistent collectives, and says MPI 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#define HAS_SESSIONS 1
#endif

/* Intel MPI calls itself MPICH 3.4. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000 && !defined(I_MPI_VERSION)
#define MPICH_4_0 1
#endif

/* Ranks that do something together. */
typedef struct Ranks {
    MPI_Comm comm;
    int rank, size;
} Ranks;

Ranks ranks_of(MPI_Comm comm);
/* MPI_COMM_WORLD, from start() on. */
extern Ranks world;

/* MPI_Init, and MPI_Init_thread with MPI_THREAD_MULTIPLE; the level that the library gives. */
void start(int *argc, char ***argv);
int start_threads(int *argc, char ***argv);
/* MPI_Finalize.  Rank 0 says how many checks there were on all ranks, and how many failed, which is
 * the exit status of all. */
int finish(void);

/* By calls that Stretto does not serve, so a wrong result of Stretto's stays seen: the same bytes
 * as rank 0 has; the sums of all ranks, which also wait for all. */
void tell_by_library(void *what, int bytes, MPI_Comm comm);
void sum_by_library(const long long *mine, long long *sums, int n, MPI_Comm comm);

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
/* Any thread may. */
void check_that(bool good, const char *condition, const char *file, int line);

/* Element `index` of rank `rank`.  Sums over 8 ranks fit into an int, and neighbours differ. */
static inline int number(int rank, size_t index) {
    return (rank + 1) * (int)(index % 1009 + 1);
}
static inline int sum_of_numbers(int ranks, size_t index) {
    return ranks * (ranks + 1) / 2 * (int)(index % 1009 + 1);
}
/* A number to begin with, another one each time: what an earlier call has left is no right answer
 * to the next.  The same on all ranks that have done the same since they began. */
void begin_salts(size_t first);
size_t next_salt(void);

/* `bytes` bytes, `shift` bytes beside where malloc's would be, poisoned, with poison around. */
void *guarded(size_t bytes, size_t shift);
void poison(void *guarded);
/* Checks that nothing around it was written, and frees it. */
void unguard(void *guarded);

/* The `i`th int at an address that need not be one of an int. */
static inline void put(void *at, size_t i, int value) {
    memcpy((char *)at + i * sizeof value, &value, sizeof value);
}
static inline int get(const void *at, size_t i) {
    int value;
    memcpy(&value, (const char *)at + i * sizeof value, sizeof value);
    return value;
}
/* The numbers of a rank from `first` on. */
void fill(void *at, size_t n, int rank, size_t first);
void check_filled(const void *at, size_t n, int rank, size_t first);
void check_sums(const void *at, size_t n, int ranks, size_t first);
