/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rates of messages where many receives and messages wait: Stretto with queues that are lists, with
 * queues that adapt, and the MPI this program is linked with, in turns, in the same processes.
 * Usage, under that MPI's mpirun:
 *
 *     queues_bench TURNS MESSAGES PATTERN[,PATTERN...]
 *
 * In a round every rank receives MESSAGES messages of 8 bytes and sends as many, all of them
 * nonblocking.  The receives are posted in the order of their tags (and sources); a pattern says
 * from which ranks, and in which order the messages are sent.  Then all ranks meet, and the clock
 * runs from the first rank's first send until the last rank has all its messages.  In the pattern
 * `early` all messages are sent first, and the clock begins with the receives.
 *
 * Rank 0 prints a line of JSON for each pattern: of each contestant the messages per second of each
 * turn, and wrong messages; of Stretto also looks per message, and how rank 0's queue is searched
 * in the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "meeting.h"
#include "stretto/info.h"
#include "stretto/stretto.h"

enum { PEER, LIST, ADAPTIVE, CONTESTANTS, MAX_TURNS = 64 };
static const char *const NAMES[CONTESTANTS] = {"peer", "list", "adaptive"};

typedef struct {
    int rank; /* the other one */
    int tag;
    uint64_t data;
} Message;

typedef struct {
    const char *name;
    int spread; /* from all other ranks in turn, else from the one before */
    int early;  /* messages are sent before the receives are posted */
    void (*order)(Message *sends, int count);
} Pattern;

typedef struct {
    int rank, size, count;
    Meeting *meeting;
    stretto_comm comms[CONTESTANTS];
    Message *receives, *sends;
    MPI_Request *peer_requests; /* receives, then sends */
    stretto_request *requests;
} Bench;

static void check(stretto_status status) {
    if (status != STRETTO_OK) {
        fprintf(stderr, "queues_bench: %s\n", stretto_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void *checked(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "queues_bench: out of memory; ask for fewer messages\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* ---- patterns */

static void in_order(Message *sends, int count) {
    (void)sends;
    (void)count;
}

static void exchange(Message *a, Message *b) {
    const Message kept = *a;
    *a = *b;
    *b = kept;
}

static void reverse(Message *sends, int count) {
    for (int i = 0; i < count / 2; i++)
        exchange(&sends[i], &sends[count - 1 - i]);
}

/* The same on every run: each rank has a generator of its own (Knuth's MMIX). */
static void shuffle(Message *sends, int count) {
    uint64_t state = (uint64_t)sends[0].rank + 1;
    for (int i = count - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        exchange(&sends[i], &sends[(state >> 33) % (uint64_t)(i + 1)]);
    }
}

static const Pattern PATTERNS[] = {
    {"in-order", 0, 0, in_order}, {"reverse", 0, 0, reverse}, {"random", 0, 0, shuffle},
    {"sources", 1, 0, shuffle},   {"early", 0, 1, shuffle},
};
enum { N_PATTERNS = sizeof(PATTERNS) / sizeof(PATTERNS[0]) };

/* What message number `tag` of `from` to `to` holds. */
static uint64_t content(int from, int to, int tag) {
    return (uint64_t)from << 48 | (uint64_t)to << 32 | (uint64_t)tag;
}

/* Every pair of ranks has as many messages, and the tags of a pair are 0, 1, 2, ... */
static void plan(Bench *bench, const Pattern *pattern) {
    const int others = pattern->spread ? bench->size - 1 : 1;
    for (int i = 0; i < bench->count; i++) {
        const int distance = 1 + i % others, tag = i / others;
        const int source = (bench->rank + bench->size - distance) % bench->size;
        const int dest = (bench->rank + distance) % bench->size;
        bench->receives[i] = (Message){source, tag, 0};
        bench->sends[i] = (Message){dest, tag, content(bench->rank, dest, tag)};
    }
    pattern->order(bench->sends, bench->count);
}

/* ---- a round */

static void post_receives(Bench *bench, int who) {
    for (int i = 0; i < bench->count; i++) {
        Message *each = &bench->receives[i];
        each->data = UINT64_MAX;
        if (who == PEER)
            MPI_Irecv(&each->data, 8, MPI_BYTE, each->rank, each->tag, MPI_COMM_WORLD,
                      &bench->peer_requests[i]);
        else
            check(stretto_irecv(bench->comms[who], &each->data, 8, STRETTO_UINT8, each->rank,
                                each->tag, NULL, &bench->requests[i]));
    }
}

static void start_sends(Bench *bench, int who) {
    for (int i = 0; i < bench->count; i++) {
        const Message *each = &bench->sends[i];
        if (who == PEER)
            MPI_Isend(&each->data, 8, MPI_BYTE, each->rank, each->tag, MPI_COMM_WORLD,
                      &bench->peer_requests[bench->count + i]);
        else
            check(stretto_isend(bench->comms[who], &each->data, 8, STRETTO_UINT8, each->rank,
                                each->tag, &bench->requests[bench->count + i]));
    }
}

static void wait_for_all(Bench *bench, int who) {
    if (who == PEER) {
        MPI_Waitall(2 * bench->count, bench->peer_requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int i = 0; i < 2 * bench->count; i++)
        check(stretto_wait(&bench->requests[i]));
}

/* The clock that all ranks of a host share; that of an MPI may begin with the process. */
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Messages per second, of all ranks together. */
static double run_round(Bench *bench, const Pattern *pattern, int who) {
    meeting_gather(bench->meeting);
    if (pattern->early)
        start_sends(bench, who);
    else
        post_receives(bench, who);
    meeting_gather(bench->meeting);
    double first = seconds(), last;
    if (pattern->early)
        post_receives(bench, who);
    else
        start_sends(bench, who);
    wait_for_all(bench, who);
    last = seconds();
    meeting_gather(
        bench->meeting); /* asleep: in the library, a rank might keep others from a core */
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (double)bench->size * bench->count / (last - first);
}

static double wrong_messages(const Bench *bench) {
    double wrong = 0;
    for (int i = 0; i < bench->count; i++) {
        const Message *each = &bench->receives[i];
        wrong += each->data != content(each->rank, bench->rank, each->tag);
    }
    return wrong;
}

/* ---- a pattern */

typedef struct {
    double rates[CONTESTANTS][MAX_TURNS];
    double wrong[CONTESTANTS];
    double looks[CONTESTANTS];
    char scheme[CONTESTANTS][16];
} Found;

/* Adds `sign` times what both queues of a contestant have done so far. */
static void count_looks(Bench *bench, Found *found, int who, int sign) {
    stretto_message_queue posted, unexpected;
    check(stretto_message_queues(bench->comms[who], &posted, &unexpected));
    found->looks[who] += sign * (double)(posted.looks + unexpected.looks);
    snprintf(found->scheme[who], sizeof(found->scheme[who]), "%s",
             posted.deepest > unexpected.deepest ? posted.scheme : unexpected.scheme);
}

static void run_pattern(Bench *bench, const Pattern *pattern, int turns, Found *found) {
    memset(found, 0, sizeof(*found));
    plan(bench, pattern);
    for (int turn = -1; turn < turns; turn++) /* the first one only warms up */
        for (int k = 0; k < CONTESTANTS; k++) {
            /* Each is followed by another one the next time. */
            const int who = (k * (1 + (turn & 1)) + turn + 1) % CONTESTANTS;
            if (turn == 0 && who != PEER)
                count_looks(bench, found, who, -1);
            const double rate = run_round(bench, pattern, who);
            if (turn >= 0)
                found->rates[who][turn] = rate;
            found->wrong[who] += wrong_messages(bench);
        }
    for (int who = LIST; who < CONTESTANTS; who++)
        count_looks(bench, found, who, 1);
    MPI_Allreduce(MPI_IN_PLACE, found->wrong, CONTESTANTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, found->looks, CONTESTANTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void print_pattern(const Bench *bench, const Pattern *pattern, int turns,
                          const Found *found) {
    printf("{\"pattern\": \"%s\", \"ranks\": %d, \"messages\": %d", pattern->name, bench->size,
           bench->count);
    for (int who = 0; who < CONTESTANTS; who++) {
        printf(", \"%s\": {\"wrong\": %.0f, \"rates\": [", NAMES[who], found->wrong[who]);
        for (int turn = 0; turn < turns; turn++)
            printf("%s%.0f", turn > 0 ? "," : "", found->rates[who][turn]);
        printf("]");
        if (who != PEER)
            printf(", \"looks\": %.3f, \"scheme\": \"%s\"",
                   found->looks[who] / ((double)bench->size * bench->count * turns),
                   found->scheme[who]);
        printf("}");
    }
    printf("}\n");
    fflush(stdout);
}

/* ---- a job */

/* A communicator reads its settings when it is made. */
static stretto_comm join(const Bench *bench, const char *matching) {
    char job[64];
    snprintf(job, sizeof(job), "queues-bench-%d-%s", (int)getpid(), matching);
    MPI_Bcast(job, sizeof(job), MPI_CHAR, 0, MPI_COMM_WORLD);
    setenv("STRETTO_MATCHING", matching, 1);
    stretto_comm comm;
    check(stretto_init_explicit(bench->rank, bench->size, job, &comm));
    return comm;
}

static void open_bench(Bench *bench, int count) {
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->size);
    bench->count = count;
    bench->meeting = meeting_open(bench->rank, bench->size, NULL);
    bench->comms[LIST] = join(bench, "list");
    bench->comms[ADAPTIVE] = join(bench, "auto");
    const size_t n = (size_t)count;
    bench->receives = checked(calloc(n, sizeof(Message)));
    bench->sends = checked(calloc(n, sizeof(Message)));
    bench->peer_requests = checked(calloc(2 * n, sizeof(MPI_Request)));
    bench->requests = checked(calloc(2 * n, sizeof(stretto_request)));
}

static void close_bench(Bench *bench) {
    free(bench->receives);
    free(bench->sends);
    free(bench->peer_requests);
    free(bench->requests);
    check(stretto_finalize(&bench->comms[LIST]));
    check(stretto_finalize(&bench->comms[ADAPTIVE]));
}

static const Pattern *pattern_named(const char *name) {
    for (int i = 0; i < N_PATTERNS; i++)
        if (strcmp(PATTERNS[i].name, name) == 0)
            return &PATTERNS[i];
    return NULL;
}

int main(int argc, char **argv) {
    static Bench bench;
    static Found found;
    MPI_Init(&argc, &argv);
    const int turns = argc > 3 ? atoi(argv[1]) : 0, count = argc > 3 ? atoi(argv[2]) : 0;
    if (turns < 1 || turns > MAX_TURNS || count < 1) {
        fprintf(stderr, "usage: queues_bench TURNS MESSAGES PATTERN[,PATTERN...]\n"
                        "TURNS is 1 to 64, a PATTERN one of in-order, reverse, random, sources, "
                        "early\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    open_bench(&bench, count);
    for (char *name = strtok(argv[3], ","); name != NULL; name = strtok(NULL, ",")) {
        const Pattern *pattern = pattern_named(name);
        if (pattern == NULL) {
            fprintf(stderr, "queues_bench: there is no pattern %s\n", name);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        run_pattern(&bench, pattern, turns, &found);
        if (bench.rank == 0)
            print_pattern(&bench, pattern, turns, &found);
    }
    close_bench(&bench);
    MPI_Finalize();
    return 0;
}
