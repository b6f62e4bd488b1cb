/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times the allreduce (sum) of Stretto, of the MPI this program is linked with and of plain
 * sockets, in turns, in the same processes, on the same buffers, on hosts of the lab.  Usage, under
 * that MPI's mpirun, with STRETTO_ADDR and STRETTO_SECRET set:
 *
 *     hosts_bench FILE CONTEST CONTESTANTS PLAN [CONTESTANTS PLAN]...
 *
 * FILE is an empty file that all hosts see, for the barrier (meeting.h).  CONTEST is allreduce (of
 * floats) or allreduce_int32.  CONTESTANTS is a list of peer, stretto, ring, exchange, tree
 * (sockets.h has the last three); stretto=NAME is Stretto by the algorithm of that name, whose
 * parameters may hold commas in their brackets.  PLAN is a list of BYTES/WARMUP/TURNS/CALLS: each
 * contestant makes WARMUP calls; then a turn is CALLS calls by one of them, and there are TURNS
 * turns of each.  With a + behind it, the calls of a turn follow one another without a barrier, and
 * a turn is one number: its time over its calls.
 *
 * Each call begins at a barrier that belongs to none of the contestants, where those who are early
 * sleep until all have come.  A call takes as long as its slowest rank.  First and last turns are
 * checked, from poisoned buffers.  CPU time is that of all threads, user and system, of all ranks,
 * without what they spent in barriers.  Rank 0 prints what Stretto measured of the network, and a
 * line of JSON for each item of a plan.
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

enum { MAX_CONTESTANTS = 64, MAX_TIMES = 8192 };

typedef struct {
    int kind;
    const char *name;      /* as it was given */
    const char *algorithm; /* Stretto's; NULL: as it chooses */
} Contestant;

typedef struct {
    size_t bytes;
    int warmup, turns, calls, together;
} Item;

/* What was measured of an item, by contestants, and of each by times or turns. */
typedef struct {
    double *ns, *cpu_ns;
    double wrong[MAX_CONTESTANTS];
} Record;

typedef struct {
    Ranks ranks;
    Meeting *meeting;
    Sockets *sockets; /* NULL unless there is a contestant that needs them */
    const Contest *contest;
    const char *forced;
    Contestant contestants[MAX_CONTESTANTS];
    int n;
} Bench;

static void usage(void) {
    fprintf(stderr, "usage: hosts_bench FILE CONTEST CONTESTANT[,CONTESTANT...] "
                    "BYTES/WARMUP/TURNS/CALLS[+][,...] [CONTESTANTS PLAN]...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *taken(size_t bytes) {
    void *memory = calloc(bytes > 0 ? bytes : 1, 1);
    if (memory == NULL) {
        fprintf(stderr, "hosts_bench: out of memory; leave out the largest sizes\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* ---- what is measured */

static void call(Bench *bench, int kind, size_t count) {
    const Ranks *ranks = &bench->ranks;
    switch (kind) {
    case PLAIN_RING: sockets_ring(bench->sockets, ranks->send, ranks->recv, count); break;
    case EXCHANGE: sockets_exchange(bench->sockets, ranks->recv, count * sizeof(float)); break;
    case TREE: sockets_tree(bench->sockets, ranks->recv, count * sizeof(float)); break;
    default: contest_call(bench->contest, ranks, kind, count);
    }
}

static void prepare(Bench *bench, const Contestant *who) {
    if (who->kind != STRETTO || who->algorithm == bench->forced)
        return;
    check(stretto_force_algorithm(bench->ranks.comm, who->algorithm));
    bench->forced = who->algorithm;
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

/* Calls one after the other: the time of each, or of all over their number.  Returns the CPU time
 * in barriers. */
static double play(Bench *bench, const Item *item, int kind, int calls, double *ns) {
    const size_t count = item->bytes / sizeof(float);
    double cpu = 0;
    uint64_t start = 0;
    for (int i = 0; i < calls; i++) {
        if (i == 0 || !item->together) {
            cpu += barrier(bench);
            start = ticks();
        }
        call(bench, kind, count);
        if (!item->together)
            ns[i] = (double)(ticks() - start) * ns_per_tick();
    }
    if (item->together)
        ns[0] = (double)(ticks() - start) * ns_per_tick() / (double)calls;
    return cpu;
}

/* Libraries connect, plan and try in the first calls of a size: all of them get as many. */
static void warm_up(Bench *bench, const Item *item, int kind) {
    double *ignored = taken((size_t)item->warmup * sizeof(double));
    if (item->warmup > 0)
        (void)play(bench, item, kind, item->warmup, ignored);
    free(ignored);
}

static void take_turn(Bench *bench, const Item *item, int k, int turn, Record *record) {
    const int kind = bench->contestants[k].kind, times = item->together ? 1 : item->calls;
    const int checked = turn == 0 || turn == item->turns - 1;
    const size_t count = item->bytes / sizeof(float);
    prepare(bench, &bench->contestants[k]);
    /* Results lie where the peer's do, whoever has the turn. */
    if (checked)
        contest_poison(bench->contest, &bench->ranks, PEER, count);
    barrier(bench); /* what others do to their buffers is not in the CPU time */
    double cpu = -clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    cpu -= play(bench, item, kind, item->calls, &record->ns[(k * item->turns + turn) * times]);
    cpu += clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    record->cpu_ns[k * item->turns + turn] = cpu / item->calls;
    if (checked && kind != EXCHANGE && kind != TREE)
        record->wrong[k] += contest_wrong(bench->contest, &bench->ranks, PEER, count);
}

static void print_numbers(const char *name, const double *numbers, int n) {
    printf(", \"%s\": [", name);
    for (int i = 0; i < n; i++)
        printf("%s%.0f", i > 0 ? "," : "", numbers[i]);
    printf("]");
}

static void print_record(Bench *bench, const Item *item, const Record *record) {
    const int times = item->turns * (item->together ? 1 : item->calls);
    printf("{\"bytes\": %zu, \"calls\": %d, \"together\": %s", item->bytes, item->calls,
           item->together ? "true" : "false");
    for (int k = 0; k < bench->n; k++) {
        printf(", \"%s\": {\"wrong\": %.0f", bench->contestants[k].name, record->wrong[k]);
        if (bench->contestants[k].kind == STRETTO) {
            const char *chosen;
            prepare(bench, &bench->contestants[k]);
            check(stretto_chosen_algorithm(
                bench->ranks.comm, "allreduce", item->bytes / sizeof(float),
                bench->contest->whole ? STRETTO_INT32 : STRETTO_FLOAT32, &chosen));
            printf(", \"chosen\": \"%s\"", chosen);
        }
        print_numbers("ns", &record->ns[k * times], times);
        print_numbers("cpu_ns", &record->cpu_ns[k * item->turns], item->turns);
        printf("}");
    }
    printf("}\n");
    fflush(stdout);
}

static void run_item(Bench *bench, const Item *item, int first) {
    const int turns = bench->n * item->turns, times = item->together ? turns : turns * item->calls;
    Record record = {
        taken((size_t)times * sizeof(double)), taken((size_t)turns * sizeof(double)), {0}};
    for (int k = 0; k < bench->n; k++) {
        prepare(bench, &bench->contestants[k]);
        warm_up(bench, item, bench->contestants[k].kind);
    }
    for (int turn = 0; turn < item->turns; turn++)
        for (int k = 0; k < bench->n; k++)
            take_turn(bench, item, (k + turn + first) % bench->n, turn, &record);
    /* The slowest rank, call by call; the processor time of all. */
    MPI_Allreduce(MPI_IN_PLACE, record.ns, times, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, record.cpu_ns, turns, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, record.wrong, bench->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (bench->ranks.rank == 0)
        print_record(bench, item, &record);
    free(record.ns);
    free(record.cpu_ns);
}

/* ---- what is asked for */

/* The next of a list, whose end becomes a 0; NULL when there is none. */
static char *next_of(char **list) {
    char *item = *list, *end = item;
    if (item == NULL)
        return NULL;
    for (int depth = 0; *end != '\0' && (*end != ',' || depth > 0); end++)
        depth += (*end == '(') - (*end == ')');
    *list = *end == '\0' ? NULL : end + 1;
    *end = '\0';
    return item;
}

static Contestant contestant(const char *name) {
    Contestant who = {0, name, strchr(name, '=')};
    const size_t length = who.algorithm == NULL ? strlen(name) : (size_t)(who.algorithm++ - name);
    while (who.kind < KINDS &&
           (strlen(NAMES[who.kind]) != length || strncmp(NAMES[who.kind], name, length) != 0))
        who.kind++;
    if (length == 0 || who.kind == KINDS || (who.algorithm != NULL && who.kind != STRETTO))
        usage();
    return who;
}

static void read_contestants(Bench *bench, char *list) {
    bench->n = 0;
    for (char *name = next_of(&list); name != NULL; name = next_of(&list)) {
        if (bench->n == MAX_CONTESTANTS)
            usage();
        bench->contestants[bench->n++] = contestant(name);
    }
}

static int needs_sockets(const Bench *bench) {
    int needed = 0;
    for (int k = 0; k < bench->n; k++)
        needed += bench->contestants[k].kind >= PLAIN_RING;
    return needed;
}

static Item item_of(const char *text) {
    Item item;
    char after = 0;
    if (sscanf(text, "%zu/%d/%d/%d%c", &item.bytes, &item.warmup, &item.turns, &item.calls,
               &after) < 4 ||
        item.bytes < sizeof(float) || item.warmup < 0 || item.turns < 1 || item.calls < 1 ||
        item.turns > MAX_TIMES / item.calls)
        usage();
    item.together = after == '+';
    return item;
}

static size_t largest_of(const char *plan) {
    size_t largest = 0;
    for (; plan != NULL; plan = strchr(plan, ',')) {
        plan += *plan == ',';
        const size_t bytes = item_of(plan).bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* ---- the job */

static void open_bench(Bench *bench, const char *file, size_t largest) {
    Ranks *ranks = &bench->ranks;
    bench->meeting = meeting_open(ranks->rank, ranks->size, file);
    check(stretto_init_explicit(ranks->rank, ranks->size, "hosts-bench", &ranks->comm));
    ranks->send = taken(largest);
    ranks->recv = taken(largest);
    contest_fill(bench->contest, ranks, largest / sizeof(float));
    const char *profile;
    check(stretto_network_profile(ranks->comm, &profile));
    if (ranks->rank == 0) {
        printf("{\"profile\": ");
        for (; *profile != '\0'; profile++)
            if (*profile != '\n')
                putchar(*profile);
        printf("}\n");
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    static Bench bench;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks.size);
    bench.contest = argc > 2 ? contest_named(argv[2]) : NULL;
    if (bench.contest == NULL || argc < 5 || argc % 2 == 0)
        usage();
    size_t largest = 0;
    for (int i = 4; i < argc; i += 2)
        largest = largest_of(argv[i]) > largest ? largest_of(argv[i]) : largest;
    open_bench(&bench, argv[1], largest);
    for (int i = 3, items = 0; i < argc; i += 2) {
        read_contestants(&bench, argv[i]);
        if (bench.sockets == NULL && needs_sockets(&bench))
            bench.sockets = sockets_open(bench.ranks.rank, bench.ranks.size);
        for (char *text = next_of(&argv[i + 1]); text != NULL; text = next_of(&argv[i + 1])) {
            const Item item = item_of(text);
            run_item(&bench, &item, items++);
        }
    }
    meeting_gather(bench.meeting);
    check(stretto_finalize(&bench.ranks.comm));
    if (bench.sockets != NULL)
        sockets_close(bench.sockets);
    free(bench.ranks.send);
    free(bench.ranks.recv);
    MPI_Finalize();
    return 0;
}
