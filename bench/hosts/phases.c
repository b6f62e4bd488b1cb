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
 * phase, user and system, of all threads of a rank, the mean over ranks and of the rank where it is
 * most; and what an edge takes, of ten thousand of which hardly one tells what others do not know,
 * the least of ten times.
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

    double before = 0;
    double start = now() + 0.1;
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, &start, 1, STRETTO_FLOAT64, STRETTO_MAX));
    for (int phase = -warmup; phase < phases; ++phase, start += seconds) {
        if (phase == 0)
            before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        check(stretto_phase_begin(comm));
        sleep_until(start + 0.25 * seconds);
        if (tells)
            check(stretto_edge(comm, 0.5));
        sleep_until(start + 0.5 * seconds);
        check(
            stretto_allreduce(comm, STRETTO_IN_PLACE, vector, count, STRETTO_FLOAT32, STRETTO_SUM));
        sleep_until(start + seconds);
    }
    const double own = (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - before) / phases;
    double mean = own / ranks, most = own, edge = time_edge(comm);
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, &mean, 1, STRETTO_FLOAT64, STRETTO_SUM));
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, &most, 1, STRETTO_FLOAT64, STRETTO_MAX));
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, &edge, 1, STRETTO_FLOAT64, STRETTO_MAX));
    if (rank == 0)
        printf("{\"ranks\": %d, \"mean_us\": %.2f, \"most_us\": %.2f, \"edge_ns\": %.1f}\n", ranks,
               1e6 * mean, 1e6 * most, 1e9 * edge);
    free(vector);
    check(stretto_finalize(&comm));
    return 0;
}
