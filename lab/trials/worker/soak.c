/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of lab/soak: makes many calls, checks each, and comes late to some at random.  Before some
 * calls it announces its progress: correctly, wrongly, or at random.
 *
 * It prints lines as worker.c does.  A thread prints each second which call the rank is at, also if
 * the rank hangs.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

enum { REGIME = 64 /* calls */, EVERYBODY_US = 500, MOST_EDGES = 3, MOST_LINES = 256 };

struct options {
    uint64_t seed, calls, lateness_us;
};

static _Atomic uint64_t at;
static _Atomic(const char *) doing = "begins";

static void say(const char *what, const char *format, ...) {
    char text[1024];
    struct timespec now;
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof(text), format, more);
    va_end(more);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s\t%ld.%06ld%s\n", what, (long)now.tv_sec, now.tv_nsec / 1000, text);
    fflush(stdout);
}

static void *say_where(void *nothing) {
    for (;; sleep(1))
        say("at", "\t%llu\t%s", (unsigned long long)at, doing);
    return nothing;
}

/* A number of this rank and call; `which` of them. */
static uint64_t chance(const struct options *options, const struct crew *crew, uint64_t number,
                       uint64_t which) {
    return mixed(mixed(options->seed * MOST_RANKS + (uint64_t)crew->rank) ^
                 mixed(number * 64 + which));
}

/* How late this rank comes, in microseconds.  By turns no rank is late, one rank is, another one in
 * each call, or all are at random. */
static uint64_t lateness(const struct options *options, const struct crew *crew, uint64_t number) {
    const uint64_t regime = mixed(~options->seed ^ mixed(number / REGIME));
    const uint64_t most = options->lateness_us * (1 + (regime >> 8) % 4) / 4;
    const uint64_t size = (uint64_t)crew->size, rank = (uint64_t)crew->rank;
    switch (regime % 4) {
    case 0: return 0;
    case 1: return (regime >> 16) % size == rank ? most : 0;
    case 2: return mixed(regime + number) % size == rank ? most : 0;
    default: return chance(options, crew, number, 0) % (most + 1);
    }
}

/* In half of the regimes, half of the ranks announce their progress. */
static int announces(const struct options *options, const struct crew *crew, uint64_t number) {
    return mixed(options->seed + mixed(number / REGIME)) % 2 == 0 &&
           chance(options, crew, number, 1) % 2 == 0;
}

static double announced(const struct options *options, const struct crew *crew, uint64_t number,
                        uint64_t edge, double done) {
    const uint64_t random = chance(options, crew, number, 8 + edge);
    const double any = (double)((random >> 16) % 1000 + 1) / 1000;
    switch (chance(options, crew, number, 2) % 3) {
    case 0: return done;
    case 1: return random % 2 == 0 ? done / 4 : done + (1 - done) * any;
    default: return any;
    }
}

/* *announcements: how often this rank has announced its progress. */
static stretto_status compute(const struct options *options, const struct crew *crew,
                              uint64_t number, uint64_t *announcements) {
    const uint64_t whole = EVERYBODY_US + lateness(options, crew, number);
    const uint64_t edges =
        announces(options, crew, number) ? 1 + chance(options, crew, number, 3) % MOST_EDGES : 0;
    stretto_status status = STRETTO_OK;
    /* Sometimes the phase is not begun anew. */
    if (chance(options, crew, number, 4) % 8 != 0)
        status = stretto_phase_begin(crew->comm);
    for (uint64_t edge = 1; edge <= edges && status == STRETTO_OK; ++edge) {
        const double done = (double)edge / (double)(edges + 1);
        usleep((useconds_t)(whole / (edges + 1)));
        status = stretto_edge(crew->comm, announced(options, crew, number, edge, done));
        ++*announcements;
    }
    usleep((useconds_t)(whole / (edges + 1)));
    return status;
}

static void say_what_served(const struct crew *crew) {
    static stretto_stat lines[MOST_LINES];
    size_t count = 0;
    if (stretto_stats(crew->comm, lines, MOST_LINES, &count) != STRETTO_OK)
        return;
    for (size_t i = 0; i < count && i < MOST_LINES; ++i)
        say("served", "\t%s\t%s\t%llu", lines[i].collective, lines[i].algorithm,
            (unsigned long long)lines[i].calls);
}

static void say_failed(uint64_t number, const char *during, stretto_status status) {
    say("failed", "\t%llu\t%s\t%s\t%s", (unsigned long long)number, during,
        stretto_status_name(status), stretto_last_error());
}

/* Makes all calls, or calls until one fails; returns how many it has made. */
static uint64_t make_calls(const struct options *options, const struct crew *crew,
                           uint64_t *announcements) {
    for (uint64_t number = 0; number < options->calls; ++number) {
        const struct call call = watched_call_of(options->seed, number);
        char during[128];
        size_t wrong = 0;
        at = number;
        doing = "computes";
        stretto_status status = compute(options, crew, number, announcements);
        if (status != STRETTO_OK) {
            say_failed(number, "phase", status);
            return number;
        }
        doing = "is in the call";
        status = make_call(crew, &call, number, &wrong);
        if (status != STRETTO_OK || wrong > 0)
            describe_call(&call, during, sizeof(during));
        if (status != STRETTO_OK) {
            say_failed(number, during, status);
            return number;
        }
        if (wrong > 0)
            say("wrong", "\t%llu\t%s\t%zu", (unsigned long long)number, during, wrong);
    }
    return options->calls;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s SEED CALLS LATENESS_US, as a rank of a job\n", argv[0]);
        return 2;
    }
    const struct options options = {strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
                                    strtoull(argv[3], NULL, 10)};
    struct crew crew = {0};
    uint64_t announcements = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, say_where, NULL) != 0) {
        fprintf(stderr, "no thread\n");
        return 3;
    }
    stretto_status status = stretto_init(&crew.comm);
    if (status != STRETTO_OK) {
        say_failed(0, "init", status);
        return 1;
    }
    crew.rank = stretto_rank(crew.comm);
    crew.size = stretto_size(crew.comm);
    for (int rank = 0; rank < crew.size; ++rank)
        crew.members[rank] = rank;
    const uint64_t made = make_calls(&options, &crew, &announcements);
    say_what_served(&crew);
    doing = "ends";
    status = stretto_finalize(&crew.comm);
    if (status != STRETTO_OK)
        say_failed(made, "finalize", status);
    say("ended", "\t%llu\t%llu", (unsigned long long)made, (unsigned long long)announcements);
    free_buffers();
    return status != STRETTO_OK || made != options.calls;
}
