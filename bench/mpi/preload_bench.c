/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that times the calls of the program (MPI_...) and those of the library under it
 * (PMPI_...), in turns: with libstretto_mpi preloaded the former are Stretto's.
 *
 *   mpirun -n P preload_bench CALL,CALL,... BYTES,BYTES,... TURNS
 *
 * Bytes are those of the whole vector, which has at least one element for each rank.  A turn makes
 * as many calls as take some milliseconds; its time is that of the slowest rank by the number of
 * calls.  Roots change from call to call.  Rank 0 prints a line of JSON for each call and size. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRETTO, LIBRARY };
enum {
    WRITTEN = 4096
}; /* bytes that a rank sends from which on they are written before each call */

static int rank, ranks;
static int *send, *recv;
static int counts[1024];

typedef struct {
    const char *name;
    int in_parts; /* the vector has a part for each rank */
    void (*make)(int who, int count, int root);
} Call;

#define EITHER(who, call, ...)                                                                     \
    do {                                                                                           \
        if ((who) == STRETTO)                                                                      \
            MPI_##call(__VA_ARGS__);                                                               \
        else                                                                                       \
            PMPI_##call(__VA_ARGS__);                                                              \
    } while (0)

static void allreduce(int who, int count, int root) {
    (void)root;
    EITHER(who, Allreduce, send, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void reduce(int who, int count, int root) {
    EITHER(who, Reduce, send, recv, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
}
static void bcast(int who, int count, int root) {
    EITHER(who, Bcast, rank == root ? send : recv, count, MPI_INT, root, MPI_COMM_WORLD);
}
static void allgather(int who, int count, int root) {
    (void)root;
    EITHER(who, Allgather, send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD);
}
static void reduce_scatter_block(int who, int count, int root) {
    (void)root;
    EITHER(who, Reduce_scatter_block, send, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void reduce_scatter(int who, int count, int root) {
    (void)root;
    for (int r = 0; r < ranks; ++r)
        counts[r] = count;
    EITHER(who, Reduce_scatter, send, recv, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void barrier(int who, int count, int root) {
    (void)count, (void)root;
    EITHER(who, Barrier, MPI_COMM_WORLD);
}
static void iallreduce(int who, int count, int root) {
    MPI_Request request;
    (void)root;
    EITHER(who, Iallreduce, send, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    EITHER(who, Wait, &request, MPI_STATUS_IGNORE);
}

static const Call kCalls[] = {
    {"allreduce", 0, allreduce},
    {"reduce", 0, reduce},
    {"bcast", 0, bcast},
    {"allgather", 1, allgather},
    {"reduce_scatter_block", 1, reduce_scatter_block},
    {"reduce_scatter", 1, reduce_scatter},
    {"barrier", 0, barrier},
    {"iallreduce", 0, iallreduce},
};

static int value(int of, int index) {
    return of * 1000003 + index * 7;
}

/* What a call of either side must have left in recv. */
static long wrong(const Call *call, int count, int root) {
    long bad = 0;
    const int reduces = strstr(call->name, "reduce") != NULL;
    const int first = strstr(call->name, "scatter") ? count * rank : 0;
    const int sum = 1000003 * (ranks * (ranks - 1) / 2);
    if (strcmp(call->name, "barrier") == 0 || (strcmp(call->name, "reduce") == 0 && rank != root))
        return 0;
    if (reduces)
        for (int i = 0; i < count; ++i)
            bad += recv[i] != sum + ranks * 7 * (first + i);
    else if (call->in_parts)
        for (int r = 0; r < ranks; ++r)
            for (int i = 0; i < count; ++i)
                bad += recv[r * count + i] != value(r, i);
    else if (rank != root)
        for (int i = 0; i < count; ++i)
            bad += recv[i] != value(root, i);
    return bad;
}

/* What is sent has just been written, as in programs: else it would lie in both caches for ever. */
static void write_input(int count) {
    for (int i = 0; i < count; ++i)
        send[i] = value(rank, i);
}

/* Seconds of a call in a turn of so many: short ones back to back, before long ones all write their
 * input, and meet. */
static double turn(const Call *call, int who, int count, int calls) {
    const int long_ones = (size_t)count * sizeof(int) >= WRITTEN;
    double mine = 0, slowest;
    PMPI_Barrier(MPI_COMM_WORLD);
    const double first = PMPI_Wtime();
    for (int i = 0; i < calls; ++i) {
        if (!long_ones) {
            call->make(who, count, i % ranks);
            continue;
        }
        write_input(count);
        PMPI_Barrier(MPI_COMM_WORLD);
        const double start = PMPI_Wtime();
        call->make(who, count, i % ranks);
        mine += PMPI_Wtime() - start;
    }
    if (!long_ones)
        mine = PMPI_Wtime() - first;
    mine /= calls;
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure(const Call *call, long bytes, int turns) {
    const int whole = (int)(bytes / (long)sizeof(int) / (call->in_parts ? ranks : 1));
    const int count = whole > 0 ? whole : 1;
    double *times[2] = {malloc(sizeof(double) * (size_t)turns),
                        malloc(sizeof(double) * (size_t)turns)};
    long bad = 0, all_bad = 0;
    for (int who = 0; who < 2; ++who) {
        memset(recv, 0xff, (size_t)bytes + sizeof(int) * (size_t)ranks);
        call->make(who, count, 0);
        bad += wrong(call, count, 0);
    }
    /* First calls take long: only turns of many tell how many it takes. */
    int calls = 1;
    while (calls < 4096 &&
           calls * (turn(call, STRETTO, count, calls) + turn(call, LIBRARY, count, calls)) < 8e-3)
        calls *= 2;
    for (int t = 0; t < turns; ++t)
        for (int side = 0; side < 2; ++side) {
            const int who = (side + t) % 2; /* who begins changes */
            times[who][t] = turn(call, who, count, calls);
        }
    PMPI_Allreduce(&bad, &all_bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"call\": \"%s\", \"bytes\": %ld, \"wrong\": %ld", call->name, bytes, all_bad);
        for (int who = 0; who < 2; ++who) {
            printf(", \"%s\": [", who == STRETTO ? "stretto" : "library");
            for (int t = 0; t < turns; ++t)
                printf("%s%.4f", t ? ", " : "", times[who][t] * 1e6);
            printf("]");
        }
        printf("}\n");
        fflush(stdout);
    }
    free(times[0]);
    free(times[1]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks > 1024) {
        fprintf(stderr, "preload_bench CALLS SIZES TURNS; at most 1024 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long most = 0;
    for (char *text = argv[2]; *text;) {
        const long bytes = strtol(text, &text, 10);
        most = bytes > most ? bytes : most;
        text += *text == ',';
    }
    send = malloc((size_t)most + sizeof(int) * (size_t)ranks);
    recv = malloc((size_t)most + sizeof(int) * (size_t)ranks);
    if (!send || !recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    write_input((int)(most / (long)sizeof(int)) + ranks);
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
        for (size_t c = 0; c < sizeof kCalls / sizeof *kCalls; ++c) {
            if (strcmp(kCalls[c].name, name) != 0)
                continue;
            for (char *text = argv[2]; *text;) {
                const long bytes = strtol(text, &text, 10);
                text += *text == ',';
                measure(&kCalls[c], bytes, atoi(argv[3]));
                if (strcmp(name, "barrier") == 0)
                    break;
            }
        }
    MPI_Finalize();
    return 0;
}
