// SPDX-License-Identifier: BSD-3-Clause
// A library that measures the allreduces of a program by MPI's profiling interface.  It is
// preloaded in runs with and without Stretto alike; with Stretto it comes first in LD_PRELOAD, so
// that it sees the program's calls and Stretto runs them.  In MPI_Finalize rank 0 prints a line:
//
//   {"allreduce": {"running_seconds": from MPI_Init to MPI_Finalize,
//                  "cpu_seconds": of all threads of all ranks in that time,
//                  "others": [calls, seconds] of rank 0 on other communicators than MPI_COMM_WORLD,
//                  "by_size": [[bytes, calls, mean seconds, seconds after the last], ...]}}
//
// Mean: the seconds in calls of that size, the mean of all ranks.  A rank that comes early waits in
// the call for the others, and the mean counts that.  After the last: from the time that the last
// rank comes to the time that the last rank leaves, the sum of all calls.  That needs one clock for
// all hosts, which hosts of the lab have.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_CALLS = 1 << 18, MOST_SIZES = 64 };

struct stay { // of a rank in a call
    double came, left;
};

static struct stay stays[MOST_CALLS]; // in calls on MPI_COMM_WORLD, and their bytes
static int bytes[MOST_CALLS];
static int made, others;
static double others_seconds, began, cpu_began;

static double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

static int begin(int status) {
    began = now();
    cpu_began = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    return status;
}

int MPI_Init(int *argc, char ***argv) {
    return begin(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    return begin(PMPI_Init_thread(argc, argv, required, provided));
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    struct stay stay = {.came = now()};
    const int status = PMPI_Allreduce(send, recv, count, type, op, comm);
    stay.left = now();
    if (comm == MPI_COMM_WORLD && made < MOST_CALLS) {
        int size;
        PMPI_Type_size(type, &size);
        stays[made] = stay;
        bytes[made++] = size * count;
    } else {
        ++others;
        others_seconds += stay.left - stay.came;
    }
    return status;
}

// `all`: the stays of every rank, one rank after the other.
static void print(const struct stay *all, int ranks, double running, double cpu) {
    static struct {
        int bytes, calls;
        double mean, after_last;
    } sizes[MOST_SIZES];
    int known = 0;
    for (int call = 0; call < made; ++call) {
        int at = 0;
        while (at < known && sizes[at].bytes != bytes[call])
            ++at;
        if (at == MOST_SIZES)
            --at; // the last line is of all further sizes
        else if (at == known)
            sizes[known++].bytes = bytes[call];
        struct stay last = all[call];
        double sum = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const struct stay one = all[(size_t)rank * (size_t)made + (size_t)call];
            sum += one.left - one.came;
            last.came = one.came > last.came ? one.came : last.came;
            last.left = one.left > last.left ? one.left : last.left;
        }
        ++sizes[at].calls;
        sizes[at].mean += sum / ranks;
        sizes[at].after_last += last.left - last.came;
    }
    printf("{\"allreduce\": {\"running_seconds\": %.6f, \"cpu_seconds\": %.6f, ", running, cpu);
    printf("\"others\": [%d, %.6f], \"by_size\": [", others, others_seconds);
    for (int at = 0; at < known; ++at)
        printf("%s[%d, %d, %.6f, %.6f]", at == 0 ? "" : ", ", sizes[at].bytes, sizes[at].calls,
               sizes[at].mean, sizes[at].after_last);
    printf("]}}\n");
    fflush(stdout);
}

// Stretto runs no MPI_Gather: the MPI library gathers in both kinds of runs.
int MPI_Finalize(void) {
    const double running = now() - began;
    const double cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
    double all_cpu = 0;
    int rank, ranks;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct stay *all = rank == 0 ? malloc(((size_t)ranks * (size_t)made + 1) * sizeof *all) : NULL;
    if (rank == 0 && all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    PMPI_Gather(stays, 2 * made, MPI_DOUBLE, all, 2 * made, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double *cpus = rank == 0 ? malloc((size_t)ranks * sizeof *cpus) : NULL;
    if (rank == 0 && cpus == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    PMPI_Gather(&cpu, 1, MPI_DOUBLE, cpus, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int each = 0; rank == 0 && each < ranks; ++each)
        all_cpu += cpus[each];
    if (rank == 0)
        print(all, ranks, running, all_cpu);
    free(cpus);
    free(all);
    return PMPI_Finalize();
}
