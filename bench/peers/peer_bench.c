/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times Stretto's allreduce and that of the MPI this program is linked with, in turns, in the same
 * processes, on the same buffers.  Usage, under that MPI's mpirun:
 *
 *     peer_bench SECONDS BYTES[,BYTES...] [threads]
 *
 * Four contestants: the MPI ("peer"), Stretto on the same malloc buffers, Stretto on buffers from
 * stretto_alloc ("shared"), and the floor that no allreduce on malloc buffers gets under by much:
 * every rank copies its vector once ("memcpy").
 *
 * The work is cut into blocks, one size each.  A block is bursts of calls, contestant after
 * contestant, until BLOCK_NS have passed; the first call of a burst is not timed but checked, the
 * others start at a barrier each, and a call takes as long as its slowest rank.  Between blocks the
 * machine is probed.  Rank 0 prints a line of JSON per block, nanoseconds per call.  "threads" asks
 * the MPI for MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meeting.h"
#include "stretto/stretto.h"

enum { PEER, STRETTO, SHARED, MEMCPY, CONTESTANTS };
static const char *const NAMES[CONTESTANTS] = {"peer", "stretto", "shared", "memcpy"};

enum { MAX_SIZES = 64, MAX_BURST = 32, MAX_CYCLES = 8, BLOCK_NS = 20000000 };

typedef struct {
    int rank, size;
    Meeting *meeting;
    stretto_comm comm;
    float *send, *recv;               /* from malloc */
    float *shared_send, *shared_recv; /* from stretto_alloc */
} Bench;

typedef struct {
    double ns[CONTESTANTS][MAX_CYCLES * MAX_BURST];
    int calls;
    double wrong[CONTESTANTS]; /* elements, over all checked calls and ranks */
} Block;

static void check(stretto_status status) {
    if (status == STRETTO_OK)
        return;
    fprintf(stderr, "peer_bench: %s: %s\n", stretto_status_name(status), stretto_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *checked(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "peer_bench: out of memory; leave out the largest sizes\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Rank r contributes (r + 1) * h(i) at index i, with h a hash below 256: the sum is
 * h(i) * size * (size + 1) / 2, exact in a float for up to 256 ranks; a block that is misplaced,
 * missing or counted twice shows. */
static float hashed(size_t i) {
    return (float)(((uint32_t)i * 2654435761u) >> 24);
}

static double mismatches(const float *vector, size_t count, float factor) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += vector[i] != factor * hashed(i);
    return (double)wrong;
}

static void call(Bench *bench, int contestant, size_t count) {
    switch (contestant) {
    case PEER:
        MPI_Allreduce(bench->send, bench->recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case STRETTO:
        check(stretto_allreduce(bench->comm, bench->send, bench->recv, count, STRETTO_FLOAT32,
                                STRETTO_SUM));
        break;
    case SHARED:
        check(stretto_allreduce(bench->comm, bench->shared_send, bench->shared_recv, count,
                                STRETTO_FLOAT32, STRETTO_SUM));
        break;
    default: memcpy(bench->recv, bench->send, count * sizeof(float));
    }
}

static int burst_calls(size_t bytes) {
    return bytes <= 64 << 10 ? MAX_BURST : bytes <= 4 << 20 ? 8 : 3;
}

static void run_burst(Bench *bench, Block *block, int contestant, size_t bytes) {
    const size_t count = bytes / sizeof(float);
    float *recv = contestant == SHARED ? bench->shared_recv : bench->recv;
    const int parts = contestant == MEMCPY ? bench->rank + 1 : bench->size * (bench->size + 1) / 2;
    memset(recv, 0xff, bytes); /* NaN: what is not written shows */
    meeting_barrier(bench->meeting);
    call(bench, contestant, count);
    block->wrong[contestant] += mismatches(recv, count, (float)parts);
    double *ns = block->ns[contestant] + block->calls;
    for (int i = 0; i < burst_calls(bytes); i++) {
        meeting_barrier(bench->meeting);
        const uint64_t start = ticks();
        call(bench, contestant, count);
        ns[i] = (double)(ticks() - start) * ns_per_tick();
    }
}

static void run_block(Bench *bench, Block *block, size_t bytes, int round) {
    const double start = MPI_Wtime();
    memset(block->wrong, 0, sizeof(block->wrong));
    block->calls = 0;
    int more = 1;
    for (int cycle = 0; more; cycle++) {
        /* Each contestant is followed by another one the next time. */
        for (int k = 0; k < CONTESTANTS; k++)
            run_burst(bench, block, (k * (1 + 2 * (cycle & 1)) + cycle + round) % CONTESTANTS,
                      bytes);
        block->calls += burst_calls(bytes);
        more = meeting_agree(bench->meeting,
                             cycle + 1 < MAX_CYCLES && (MPI_Wtime() - start) * 1e9 < BLOCK_NS);
    }
    for (int k = 0; k < CONTESTANTS; k++) /* the slowest rank, call by call */
        MPI_Allreduce(MPI_IN_PLACE, block->ns[k], block->calls, MPI_DOUBLE, MPI_MAX,
                      MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, block->wrong, CONTESTANTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void print_block(const Block *block, size_t bytes, int round, double before, double after) {
    printf("{\"bytes\": %zu, \"round\": %d, \"probe_ns\": [%.2f, %.2f]", bytes, round, before,
           after);
    for (int k = 0; k < CONTESTANTS; k++) {
        printf(", \"%s\": {\"wrong\": %.0f, \"ns\": [", NAMES[k], block->wrong[k]);
        for (int i = 0; i < block->calls; i++)
            printf("%s%.0f", i > 0 ? "," : "", block->ns[k][i]);
        printf("]}");
    }
    printf("}\n");
    fflush(stdout);
}

static int read_sizes(char *list, size_t *sizes, size_t *largest) {
    int n = 0;
    *largest = 0;
    for (char *item = strtok(list, ","); item != NULL && n < MAX_SIZES; item = strtok(NULL, ",")) {
        sizes[n] = strtoull(item, NULL, 10) / sizeof(float) * sizeof(float);
        if (sizes[n] > *largest)
            *largest = sizes[n];
        n++;
    }
    return n;
}

static void open_bench(Bench *bench, size_t largest) {
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->size);
    bench->meeting = meeting_open(bench->rank, bench->size);
    char job[32];
    snprintf(job, sizeof(job), "peer-bench-%d", (int)getpid());
    MPI_Bcast(job, sizeof(job), MPI_CHAR, 0, MPI_COMM_WORLD);
    check(stretto_init_explicit(bench->rank, bench->size, job, &bench->comm));
    bench->send = checked(malloc(largest));
    bench->recv = checked(malloc(largest));
    void *memory;
    check(stretto_alloc(bench->comm, largest, &memory));
    bench->shared_send = memory;
    check(stretto_alloc(bench->comm, largest, &memory));
    bench->shared_recv = memory;
    for (size_t i = 0; i < largest / sizeof(float); i++)
        bench->send[i] = bench->shared_send[i] = (float)(bench->rank + 1) * hashed(i);
}

static void close_bench(Bench *bench) {
    free(bench->send);
    free(bench->recv);
    check(stretto_free(bench->comm, bench->shared_send));
    check(stretto_free(bench->comm, bench->shared_recv));
    check(stretto_finalize(&bench->comm));
}

int main(int argc, char **argv) {
    static Bench bench;
    static Block block;
    size_t sizes[MAX_SIZES], largest;
    const int threads = argc > 3 && strcmp(argv[3], "threads") == 0;
    int provided;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (argc < 3 || strlen(argv[2]) == 0) {
        fprintf(stderr, "usage: peer_bench SECONDS BYTES[,BYTES...] [threads]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const double seconds = atof(argv[1]), start = MPI_Wtime();
    const int n_sizes = read_sizes(argv[2], sizes, &largest);
    open_bench(&bench, largest);

    double before = meeting_probe(bench.meeting);
    int more = 1;
    for (int round = 0; more; round++)
        for (int s = 0; s < n_sizes && more; s++) {
            run_block(&bench, &block, sizes[s], round);
            const double after = meeting_probe(bench.meeting);
            if (bench.rank == 0)
                print_block(&block, sizes[s], round, before, after);
            before = after;
            /* The first round, which meets every size, may take twice the time. */
            more =
                meeting_agree(bench.meeting, MPI_Wtime() - start < seconds * (round == 0 ? 2 : 1));
        }
    close_bench(&bench);
    MPI_Finalize();
    return 0;
}
