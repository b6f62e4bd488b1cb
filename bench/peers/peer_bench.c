/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times a collective of Stretto and of the MPI this program is linked with, in turns, in the same
 * processes, on the same buffers.  Usage, under that MPI's mpirun:
 *
 *     peer_bench COLLECTIVE SECONDS BYTES[,BYTES...] [threads]
 *
 * Four contestants: the MPI ("peer"), Stretto on the same malloc buffers, Stretto on buffers from
 * stretto_alloc ("shared"), and every rank copying its vector once ("memcpy"), the floor that no
 * allreduce on malloc buffers gets under by much.
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

#include "contest.h"
#include "meeting.h"

static const char *const NAMES[CONTESTANTS] = {"peer", "stretto", "shared", "memcpy"};

enum { MAX_SIZES = 64, MAX_BURST = 32, MAX_CYCLES = 8, BLOCK_NS = 20000000 };

typedef struct {
    const Contest *contest;
    Ranks ranks;
    Meeting *meeting;
} Bench;

typedef struct {
    double ns[CONTESTANTS][MAX_CYCLES * MAX_BURST];
    int calls;
    double wrong[CONTESTANTS]; /* elements, over all checked calls and ranks */
} Block;

static void *checked(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "peer_bench: out of memory; leave out the largest sizes\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static int burst_calls(size_t bytes) {
    return bytes <= 64 << 10 ? MAX_BURST : bytes <= 4 << 20 ? 8 : 3;
}

static void run_burst(Bench *bench, Block *block, int contestant, size_t bytes) {
    const size_t count = bytes / sizeof(float);
    const Ranks *ranks = &bench->ranks;
    contest_poison(bench->contest, ranks, contestant, count);
    meeting_barrier(bench->meeting);
    contest_call(bench->contest, ranks, contestant, count);
    block->wrong[contestant] += contest_wrong(bench->contest, ranks, contestant, count);
    double *ns = block->ns[contestant] + block->calls;
    for (int i = 0; i < burst_calls(bytes); i++) {
        meeting_barrier(bench->meeting);
        const uint64_t start = ticks();
        contest_call(bench->contest, ranks, contestant, count);
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

/* Multiples of `unit`, without repetition. */
static int read_sizes(char *list, size_t unit, size_t *sizes, size_t *largest) {
    int n = 0;
    *largest = 0;
    for (char *item = strtok(list, ","); item != NULL && n < MAX_SIZES; item = strtok(NULL, ",")) {
        const size_t asked = strtoull(item, NULL, 10) / unit * unit;
        const size_t size = asked > unit ? asked : unit;
        if (n > 0 && size == sizes[n - 1])
            continue;
        sizes[n++] = size;
        if (size > *largest)
            *largest = size;
    }
    return n;
}

static void open_bench(Bench *bench, size_t largest) {
    Ranks *ranks = &bench->ranks;
    bench->meeting = meeting_open(ranks->rank, ranks->size, NULL);
    char job[32];
    snprintf(job, sizeof(job), "peer-bench-%d", (int)getpid());
    MPI_Bcast(job, sizeof(job), MPI_CHAR, 0, MPI_COMM_WORLD);
    check(stretto_init_explicit(ranks->rank, ranks->size, job, &ranks->comm));
    ranks->send = checked(malloc(largest));
    ranks->recv = checked(malloc(largest));
    void *memory;
    check(stretto_alloc(ranks->comm, largest, &memory));
    ranks->shared_send = memory;
    check(stretto_alloc(ranks->comm, largest, &memory));
    ranks->shared_recv = memory;
    contest_fill(bench->contest, ranks, largest / sizeof(float));
}

static void close_bench(Bench *bench) {
    Ranks *ranks = &bench->ranks;
    free(ranks->send);
    free(ranks->recv);
    check(stretto_free(ranks->comm, ranks->shared_send));
    check(stretto_free(ranks->comm, ranks->shared_recv));
    check(stretto_finalize(&ranks->comm));
}

int main(int argc, char **argv) {
    static Bench bench;
    static Block block;
    size_t sizes[MAX_SIZES], largest;
    const int threads = argc > 4 && strcmp(argv[4], "threads") == 0;
    int provided;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    bench.contest = argc > 1 ? contest_named(argv[1]) : NULL;
    if (bench.contest == NULL || argc < 4 || strlen(argv[3]) == 0) {
        fprintf(stderr,
                "usage: peer_bench COLLECTIVE SECONDS BYTES[,BYTES...] [threads]\n"
                "COLLECTIVE is one of %s\n",
                contest_names());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks.size);
    const double seconds = atof(argv[2]), start = MPI_Wtime();
    const size_t parts = bench.contest->parted ? (size_t)bench.ranks.size : 1;
    const int n_sizes = read_sizes(argv[3], parts * sizeof(float), sizes, &largest);
    open_bench(&bench, largest);

    double before = meeting_probe(bench.meeting);
    int more = 1;
    for (int round = 0; more; round++)
        for (int s = 0; s < n_sizes && more; s++) {
            run_block(&bench, &block, sizes[s], round);
            const double after = meeting_probe(bench.meeting);
            if (bench.ranks.rank == 0)
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
