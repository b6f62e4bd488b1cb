/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "meeting.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { MAX_RANKS = 1024, PROBE_BYTES = 64 << 10, PROBE_PASSES = 9 };

typedef struct {
    _Alignas(64) _Atomic uint64_t value;
} Line;

typedef struct {
    Line arrived[MAX_RANKS]; /* how many barriers each rank has reached */
    Line gathering;          /* ranks that have come to gatherings, all of them counted */
    _Alignas(64) _Atomic uint32_t gathered; /* gatherings that all have come to */
    Line turn; /* the passes of the probe, two steps each: read, overwritten */
    Line decision;
    _Alignas(64) double probe_ns;
    _Alignas(4096) volatile uint64_t probed[PROBE_BYTES / sizeof(uint64_t)];
} Floor;

struct Meeting {
    int rank, size, cores;
    uint64_t barriers, turns;
    uint32_t gatherings;
    Floor *floor;
};

static void fail(const char *what) {
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int allowed_cores(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        fail("sched_getaffinity");
    return CPU_COUNT(&allowed);
}

static int pin(int rank) {
    cpu_set_t allowed, mine;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        fail("sched_getaffinity");
    const int cores = CPU_COUNT(&allowed);
    size_t core = 0;
    for (int skip = rank % cores; !CPU_ISSET(core, &allowed) || skip-- > 0;)
        core++;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    if (sched_setaffinity(0, sizeof(mine), &mine) != 0)
        fail("sched_setaffinity");
    return cores;
}

/* A file without a name: it leaves nothing behind, however the job ends. */
static int open_unnamed(int rank) {
    int where[2] = {getpid(), -1};
    if (rank == 0) {
        where[1] = memfd_create("meeting", 0);
        if (where[1] < 0)
            fail("memfd_create");
    }
    MPI_Bcast(where, 2, MPI_INT, 0, MPI_COMM_WORLD);
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", where[0], where[1]);
    const int file = rank == 0 ? where[1] : open(path, O_RDWR);
    if (file < 0)
        fail(path);
    return file;
}

static int open_named(const char *path) {
    const int file = open(path, O_RDWR);
    if (file < 0)
        fail(path);
    return file;
}

Meeting *meeting_open(int rank, int size, const char *path) {
    Meeting *meeting = calloc(1, sizeof(*meeting));
    if (meeting == NULL || size > MAX_RANKS)
        fail("meeting_open");
    meeting->rank = rank;
    meeting->size = size;
    meeting->cores = path == NULL ? pin(rank) : allowed_cores();
    const int file = path == NULL ? open_unnamed(rank) : open_named(path);
    if (rank == 0 && ftruncate(file, sizeof(Floor)) != 0)
        fail("ftruncate");
    MPI_Barrier(MPI_COMM_WORLD); /* it is long enough now */
    meeting->floor = mmap(NULL, sizeof(Floor), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (meeting->floor == MAP_FAILED)
        fail("mmap");
    MPI_Barrier(MPI_COMM_WORLD);
    close(file);
    return meeting;
}

int meeting_cores(const Meeting *meeting) {
    return meeting->cores;
}

/* One look at a flag that was not yet set. */
static void wait_a_little(const Meeting *meeting) {
    if (meeting->size > meeting->cores)
        sched_yield();
    else
#if defined(__x86_64__)
        _mm_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#else
        atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* An MPI may have returned from a call of which a peer still needs a part, and moves it only when
 * called again. */
static void let_mpi_move(void) {
    int any;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
}

static uint64_t arrive(Meeting *meeting) {
    const uint64_t now = ++meeting->barriers;
    atomic_store_explicit(&meeting->floor->arrived[meeting->rank].value, now, memory_order_release);
    return now;
}

static int has_come(const Meeting *meeting, int rank, uint64_t barrier) {
    return atomic_load_explicit(&meeting->floor->arrived[rank].value, memory_order_acquire) >=
           barrier;
}

void meeting_barrier(Meeting *meeting) {
    const uint64_t now = arrive(meeting);
    unsigned polls = 0;
    for (int r = 0; r < meeting->size; r++)
        while (!has_come(meeting, r, now)) {
            wait_a_little(meeting);
            if (++polls % 65536 == 0) /* so rarely (after milliseconds) that no timing notices */
                let_mpi_move();
        }
}

/* The last rank to come wakes the others.  Meanwhile they progress their MPI, rarely if there are
 * many ranks, as they share the cores with ranks that have not come yet.  0.2 ms up to 14 ranks, 16
 * ms at 128. */
void meeting_gather(Meeting *meeting) {
    Floor *floor = meeting->floor;
    const uint32_t now = ++meeting->gatherings;
    const uint64_t all = (uint64_t)now * (uint64_t)meeting->size;
    const long us = meeting->size > 14 ? (long)meeting->size * meeting->size : 200;
    const struct timespec patience = {us / 1000000, us % 1000000 * 1000};
    if (atomic_fetch_add(&floor->gathering.value, 1) + 1 == all) {
        atomic_store(&floor->gathered, now);
        syscall(SYS_futex, &floor->gathered, FUTEX_WAKE, meeting->size, NULL, NULL, 0);
        return;
    }
    while (atomic_load(&floor->gathered) < now) {
        syscall(SYS_futex, &floor->gathered, FUTEX_WAIT, now - 1, &patience, NULL, 0);
        let_mpi_move();
    }
}

int meeting_agree(Meeting *meeting, int value) {
    _Atomic uint64_t *decision = &meeting->floor->decision.value;
    if (meeting->rank == 0)
        atomic_store(decision, (uint64_t)value);
    meeting_barrier(meeting);
    const int agreed = (int)atomic_load(decision);
    meeting_barrier(meeting); /* rank 0 may decide again only when all have read */
    return agreed;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ranks 0 and 1 take turns; they are on different cores and may spin. */
static void await_turn(Floor *floor, uint64_t turn) {
    while (atomic_load_explicit(&floor->turn.value, memory_order_acquire) < turn)
        ;
}

static void end_turn(Floor *floor, uint64_t turn) {
    atomic_store_explicit(&floor->turn.value, turn + 1, memory_order_release);
}

double meeting_probe(Meeting *meeting) {
    if (meeting->size == 1 || meeting->cores == 1)
        return 0;
    Floor *floor = meeting->floor;
    const size_t words = PROBE_BYTES / sizeof(uint64_t), line = 64 / sizeof(uint64_t);
    const uint64_t first = meeting->turns, last = first + 2 * PROBE_PASSES;
    double pass_ns[PROBE_PASSES];
    meeting->turns = last;
    meeting_barrier(meeting);
    for (int pass = 0; pass < PROBE_PASSES && meeting->rank < 2; pass++) {
        const uint64_t turn = first + 2 * (uint64_t)pass + (meeting->rank == 0);
        await_turn(floor, turn);
        const uint64_t start = ticks();
        for (size_t i = 0; i < words; i += line)
            if (meeting->rank == 0)
                floor->probed[i] = turn;
            else
                (void)floor->probed[i];
        pass_ns[pass] = (double)(ticks() - start) * ns_per_tick() / (double)(words / line);
        if (meeting->rank == 0 && pass == PROBE_PASSES - 1) {
            qsort(pass_ns, PROBE_PASSES, sizeof(double), by_value);
            floor->probe_ns = pass_ns[PROBE_PASSES / 2];
        }
        end_turn(floor, turn);
    }
    /* The others sleep, so that the two have their cores to themselves. */
    while (atomic_load_explicit(&floor->turn.value, memory_order_acquire) < last)
        usleep(100);
    const double result = floor->probe_ns;
    meeting_barrier(meeting);
    return result;
}

static uint64_t wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ticks(void) {
#if defined(__x86_64__)
    _mm_lfence(); /* what came before has ended, what follows has not begun */
    const uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
#else
    return wall_ns();
#endif
}

double ns_per_tick(void) {
    static double known;
    if (known == 0) {
        const uint64_t wall = wall_ns(), start = ticks();
        while (wall_ns() - wall < 20000000)
            ;
        known = (double)(wall_ns() - wall) / (double)(ticks() - start);
    }
    return known;
}
