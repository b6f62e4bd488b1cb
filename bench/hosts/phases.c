/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What it costs a rank to be watched: phases of computation, emulated by sleep, that end in
 * allreduces of floats.  Usage, as a rank of a job:
 *
 *     phases PHASES WARMUP SECONDS BYTES TELLS
 *
 * After WARMUP phases that do not count come PHASES of SECONDS each, the call included, all of
 * which begin at moments that all agree on: hosts of the lab have one clock.  TELLS: 1, half of a
 * phase is told of (edge); 0, it is not.  Rank 0 prints a line of JSON: the processor time of a
 * phase, user and system, of all threads of a rank, the mean over ranks; that of the threads that
 * the library starts, and the most of any rank; and what an edge takes, of ten thousand of which
 * hardly one tells what others do not know, the least of ten times.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stretto/phases.h>
#include <stretto/stretto.h>

static void check(stretto_status status) {
    if (status == STRETTO_OK)
        return;
    fprintf(stderr, "phases: %s\n", stretto_last_error());
    exit(1);
}

static double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double now(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

static void sleep_until(double moment) {
    struct timespec time = {(time_t)moment, 0};
    time.tv_nsec = (long)(1e9 * (moment - (double)time.tv_sec));
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
        ;
}

/* Seconds of an edge. */
static double time_edge(stretto_comm comm) {
    enum { BATCHES = 10, EDGES = 10000 };
    double least = 1;
    check(stretto_phase_begin(comm));
    for (int batch = 0; batch < BATCHES; ++batch) {
        const double start = now();
        for (int i = 0; i < EDGES; ++i)
            check(stretto_edge(comm, 1));
        const double each = (now() - start) / EDGES;
        least = each < least ? each : least;
    }
    return least;
}

/* Processor seconds: of all threads; of those that the library has started. */
struct times {
    double all, librarys;
};

static struct times times_so_far(void) {
    struct times times;
    times.all = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    times.librarys = times.all - seconds_of(CLOCK_THREAD_CPUTIME_ID);
    return times;
}

static double over_ranks(stretto_comm comm, double number, stretto_op op) {
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, &number, 1, STRETTO_FLOAT64, op));
    return number;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: phases PHASES WARMUP SECONDS BYTES TELLS\n");
        return 2;
    }
    const int phases = atoi(argv[1]), warmup = atoi(argv[2]), tells = atoi(argv[5]);
    const double seconds = atof(argv[3]);
    const size_t count = (size_t)atoll(argv[4]) / sizeof(float);
    stretto_comm comm;
    check(stretto_init(&comm));
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    float *vector = malloc(count * sizeof(float) + 1);
    if (vector == NULL)
        return 1;
    memset(vector, 0, count * sizeof(float));

    struct times before = {0, 0};
    double start = over_ranks(comm, now() + 0.1, STRETTO_MAX);
    for (int phase = -warmup; phase < phases; ++phase, start += seconds) {
        if (phase == 0)
            before = times_so_far();
        check(stretto_phase_begin(comm));
        sleep_until(start + 0.25 * seconds);
        if (tells)
            check(stretto_edge(comm, 0.5));
        sleep_until(start + 0.5 * seconds);
        check(
            stretto_allreduce(comm, STRETTO_IN_PLACE, vector, count, STRETTO_FLOAT32, STRETTO_SUM));
        sleep_until(start + seconds);
    }
    const struct times after = times_so_far();
    const double all = (after.all - before.all) / phases;
    const double librarys = (after.librarys - before.librarys) / phases;
    const double mean = over_ranks(comm, all, STRETTO_AVG);
    const double helpers = over_ranks(comm, librarys, STRETTO_AVG);
    const double helpers_most = over_ranks(comm, librarys, STRETTO_MAX);
    const double edge = over_ranks(comm, time_edge(comm), STRETTO_MAX);
    if (rank == 0)
        printf("{\"ranks\": %d, \"mean_us\": %.2f, \"helpers_us\": %.2f, "
               "\"helpers_most_us\": %.2f, \"edge_ns\": %.1f}\n",
               ranks, 1e6 * mean, 1e6 * helpers, 1e6 * helpers_most, 1e9 * edge);
    free(vector);
    check(stretto_finalize(&comm));
    return 0;
}
