/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times the allreduce (floats, sum) of Stretto, of the MPI this program is linked with and of plain
 * sockets, in turns, in the same processes, on the same buffers, on hosts of the lab.  Usage, under
 * that MPI's mpirun, with STRETTO_ADDR and STRETTO_SECRET set:
 *
 *     hosts_bench FILE CONTESTANTS PLAN
 *
 * FILE is an empty file that all hosts see, for the barrier (meeting.h).  CONTESTANTS is a list of
 * peer, stretto, ring, exchange, tree (sockets.h has the last three).  PLAN is a list of
 * BYTES/TURNS/CALLS: a turn is CALLS calls by one contestant, and there are TURNS turns of each.
 * With a + behind it, the calls of a turn follow one another without a barrier, and a turn is one
 * number: its time over its calls.
 *
 * Each call begins at a barrier that belongs to none of the contestants, where those who are early
 * sleep until all have come.  A call takes as long as its slowest rank.  First and last turns are
 * checked, from poisoned buffers.  CPU time is that of all threads, user and system, of all ranks,
 * without what they spent in barriers.  Rank 0 prints a line of JSON for each item of the plan.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contest.h"
#include "meeting.h"
#include "sockets.h"

enum { PLAIN_RING = CONTESTANTS, EXCHANGE, TREE, KINDS };
static const char *const NAMES[KINDS] = {
    [PEER] = "peer",       [STRETTO] = "stretto",   [SHARED] = "",  [MEMCPY] = "",
    [PLAIN_RING] = "ring", [EXCHANGE] = "exchange", [TREE] = "tree"};

enum { MAX_ITEMS = 32, MAX_TIMES = 8192 };

typedef struct {
    size_t bytes;
    int turns, calls, together;
} Item;

typedef struct {
    Ranks ranks;
    Meeting *meeting;
    Sockets *sockets;
    const Contest *contest;
    int kinds[KINDS], n_kinds;
} Bench;

typedef struct {
    double ns[MAX_TIMES], cpu_ns[MAX_TIMES];
    int times, turns;
    double wrong;
} Record;

static void usage(void) {
    fprintf(stderr, "usage: hosts_bench FILE CONTESTANT[,CONTESTANT...] "
                    "BYTES/TURNS/CALLS[+][,...]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void call(Bench *bench, int kind, size_t count) {
    const Ranks *ranks = &bench->ranks;
    switch (kind) {
    case PLAIN_RING: sockets_ring(bench->sockets, ranks->send, ranks->recv, count); break;
    case EXCHANGE: sockets_exchange(bench->sockets, ranks->recv, count * sizeof(float)); break;
    case TREE: sockets_tree(bench->sockets, ranks->recv, count * sizeof(float)); break;
    default: contest_call(bench->contest, ranks, kind, count);
    }
}

static double clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The thread's CPU time in it, which is nobody's.  Who is early sleeps: if it only yielded, it
 * would take the time from those whose call has not ended yet. */
static double barrier(Bench *bench) {
    const double before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    meeting_gather(bench->meeting);
    meeting_barrier(bench->meeting);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

static void take_turn(Bench *bench, const Item *item, int kind, int checked, Record *record) {
    const size_t count = item->bytes / sizeof(float);
    /* Results lie where the peer's do, whoever has the turn. */
    if (checked)
        contest_poison(bench->contest, &bench->ranks, PEER, count);
    barrier(bench); /* what others do to their buffers is not in the CPU time */
    double cpu = -clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (item->together) {
        cpu -= barrier(bench);
        const uint64_t start = ticks();
        for (int i = 0; i < item->calls; i++)
            call(bench, kind, count);
        record->ns[record->times++] =
            (double)(ticks() - start) * ns_per_tick() / (double)item->calls;
    } else {
        for (int i = 0; i < item->calls; i++) {
            cpu -= barrier(bench);
            const uint64_t start = ticks();
            call(bench, kind, count);
            record->ns[record->times++] = (double)(ticks() - start) * ns_per_tick();
        }
    }
    cpu += clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    record->cpu_ns[record->turns++] = cpu / item->calls;
    if (checked && kind != EXCHANGE && kind != TREE)
        record->wrong += contest_wrong(bench->contest, &bench->ranks, PEER, count);
}

static void print_record(const Record *record, const char *name) {
    printf(", \"%s\": {\"wrong\": %.0f, \"ns\": [", name, record->wrong);
    for (int i = 0; i < record->times; i++)
        printf("%s%.0f", i > 0 ? "," : "", record->ns[i]);
    printf("], \"cpu_ns\": [");
    for (int i = 0; i < record->turns; i++)
        printf("%s%.0f", i > 0 ? "," : "", record->cpu_ns[i]);
    printf("]}");
}

static void run_item(Bench *bench, const Item *item, int first) {
    static Record records[KINDS];
    memset(records, 0, sizeof(records));
    for (int turn = 0; turn < item->turns; turn++)
        for (int k = 0; k < bench->n_kinds; k++) {
            const int kind = bench->kinds[(k + turn + first) % bench->n_kinds];
            take_turn(bench, item, kind, turn == 0 || turn == item->turns - 1, &records[kind]);
        }
    if (bench->ranks.rank == 0)
        printf("{\"bytes\": %zu, \"calls\": %d, \"together\": %s", item->bytes, item->calls,
               item->together ? "true" : "false");
    for (int k = 0; k < bench->n_kinds; k++) {
        Record *record = &records[bench->kinds[k]];
        /* The slowest rank, call by call; the processor time of all. */
        MPI_Allreduce(MPI_IN_PLACE, record->ns, record->times, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, record->cpu_ns, record->turns, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, &record->wrong, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (bench->ranks.rank == 0)
            print_record(record, NAMES[bench->kinds[k]]);
    }
    if (bench->ranks.rank == 0) {
        printf("}\n");
        fflush(stdout);
    }
}

static void read_contestants(Bench *bench, char *list) {
    for (char *item = strtok(list, ","); item != NULL; item = strtok(NULL, ",")) {
        int kind = 0;
        while (kind < KINDS && strcmp(NAMES[kind], item) != 0)
            kind++;
        if (kind == KINDS || bench->n_kinds == KINDS)
            usage();
        bench->kinds[bench->n_kinds++] = kind;
    }
    if (bench->n_kinds == 0)
        usage();
}

static int read_plan(char *list, Item *items, size_t *largest) {
    int n = 0;
    *largest = 0;
    for (char *text = strtok(list, ","); text != NULL; text = strtok(NULL, ",")) {
        Item *item = &items[n++];
        char after = 0;
        if (n > MAX_ITEMS ||
            sscanf(text, "%zu/%d/%d%c", &item->bytes, &item->turns, &item->calls, &after) < 3 ||
            item->bytes < sizeof(float) || item->turns < 1 || item->calls < 1 ||
            item->turns > MAX_TIMES / item->calls)
            usage();
        item->together = after == '+';
        if (item->bytes > *largest)
            *largest = item->bytes;
    }
    return n;
}

static void open_bench(Bench *bench, const char *file, size_t largest) {
    Ranks *ranks = &bench->ranks;
    bench->contest = contest_named("allreduce");
    bench->meeting = meeting_open(ranks->rank, ranks->size, file);
    bench->sockets = sockets_open(ranks->rank, ranks->size);
    check(stretto_init_explicit(ranks->rank, ranks->size, "hosts-bench", &ranks->comm));
    ranks->send = malloc(largest);
    ranks->recv = malloc(largest);
    if (ranks->send == NULL || ranks->recv == NULL) {
        fprintf(stderr, "hosts_bench: out of memory; leave out the largest sizes\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    contest_fill(ranks, largest / sizeof(float));
}

int main(int argc, char **argv) {
    static Bench bench;
    Item items[MAX_ITEMS];
    size_t largest;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks.size);
    if (argc != 4)
        usage();
    read_contestants(&bench, argv[2]);
    const int n = read_plan(argv[3], items, &largest);
    open_bench(&bench, argv[1], largest);
    for (int i = 0; i < n; i++)
        run_item(&bench, &items[i], i);
    meeting_gather(bench.meeting);
    check(stretto_finalize(&bench.ranks.comm));
    sockets_close(bench.sockets);
    free(bench.ranks.send);
    free(bench.ranks.recv);
    MPI_Finalize();
    return 0;
}
