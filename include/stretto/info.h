/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: what it goes by, and what it finds on this machine.  A part of stretto.h, which is the
 * header to include.  `stretto info` prints all of it.
 */
#ifndef STRETTO_INFO_H
#define STRETTO_INFO_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings --------------------------------------------------------------------------- */

/* Where the value of a setting comes from. */
typedef enum stretto_source {
    STRETTO_SOURCE_DEFAULT = 0,
    STRETTO_SOURCE_ENVIRONMENT = 1, /* a STRETTO_ variable of this process */
    STRETTO_SOURCE_PROGRAM = 2,     /* a call of the program: stretto_force_algorithm,
                                       stretto_set_reproducible, stretto_init_explicit, or one that
                                       made this communicator of another */
    STRETTO_SOURCE_LAUNCHER = 3,    /* what mpirun, srun or torchrun has set */
    STRETTO_SOURCE_RANK_0 = 4       /* rank 0, by which the job goes; this is another rank */
} stretto_source;

/* One setting (docs/settings.md), or a variable that looks like one. */
typedef struct stretto_setting {
    const char *name;     /* "STRETTO_TIMEOUT" */
    const char *type;     /* "bytes", "duration", "count", "boolean", "choice" or "text"; "unknown":
                             there is no such setting */
    const char *takes;    /* what a value may be, in words; "" if unknown */
    const char *value;    /* as it was written, or the default; "": Stretto decides as `meaning`
                             says, or there is none; of a secret only "set" */
    const char *fallback; /* the default, in the same form; "" likewise */
    const char *meaning;  /* "" if unknown */
    const char *error;    /* what is wrong with the value, or with the name, and what would do;
                             NULL: nothing */
    uint64_t number;      /* the value of "bytes" and "count"; of "duration" in nanoseconds; of
                             "boolean" 0 or 1; else, and with an error, 0 */
    stretto_source source;
    int for_launchers; /* 1: for `stretto run` to set, rather than for users */
} stretto_setting;

/* Fills at most `capacity` lines and gives in *count how many there are: all settings in the order
 * of docs/settings.md.  If a value cannot be read, this call succeeds and the line says so.
 *
 * comm NULL: the settings that stretto_init would find in the environment of this process now,
 * followed by STRETTO_ variables that are no settings.  The text is valid until the calling
 * thread's next call with NULL.
 *
 * Otherwise the settings of the communicator: as the environment was when it was made, with later
 * changes by the program.  Settings that shape the job (RING_BYTES, SLICE_BYTES, HEAP_BYTES) are
 * rank 0's on all ranks.  The text is valid until something is set or comm is finalized. */
STRETTO_API stretto_status stretto_settings(stretto_comm comm, stretto_setting *lines,
                                            size_t capacity, size_t *count);

/* ---- the machine ------------------------------------------------------------------------ */

typedef struct stretto_machine {
    const char *build;         /* the compiler and the kind of build: "GCC 12.2.0, Release" */
    const char *kernels_built; /* instruction sets that have kernels in this library, from narrow
                                  to wide with spaces between: "baseline avx2 avx512" */
    const char *kernels_able;  /* those of them that this processor has */
    const char *kernels;       /* the one in use: the widest that STRETTO_ISA allowed when the
                                  process first needed it; "" if that cannot be read */
    unsigned cores;        /* what Stretto counts with: the least of the next three that is known */
    unsigned cores_online; /* of the machine; 0: not known */
    unsigned cores_allowed;    /* by the affinity of the calling thread (taskset, cpusets); 0: not
                                  known, as where sched_getaffinity is forbidden */
    unsigned cores_quota;      /* what the CPU quota of the control groups is worth, rounded up; 0:
                                  there is none */
    uint64_t memory_available; /* bytes that shared memory can take now: what the machine has
                                  available and the control groups (v1 and v2) leave, where page
                                  cache counts as free; UINT64_MAX: not known */
    int asymmetric_barrier;    /* 1: the kernel has membarrier(2), so that publishing costs no
                                  fence; 0: it costs one */
    int string_copies;         /* 1: the processor's string instruction is a fast one, and copies
                                  use it; 0: they use vectors, or STRETTO_REP_MOVSB cannot be
                                  read */
} stretto_machine;

/* Looks now; does not need a communicator.  The text is never freed. */
STRETTO_API stretto_status stretto_examine(stretto_machine *machine);

/* The state of the machine as the memory system shows it: nanoseconds to overwrite one cache line
 * that the neighbour rank has just read.  Collective; 0 with one rank, or if ranks 0 and 1 are on
 * different hosts. */
STRETTO_API stretto_status stretto_probe_memory(stretto_comm comm, double *nanoseconds_per_line);

/* ---- the network ------------------------------------------------------------------------ */

/* What the communicator knows of the network and of the times of calls, in JSON, as
 * STRETTO_TUNING_FILE takes it from a file (docs/hosts.md).  On several hosts it was measured when
 * the job started, or read, and is the same on all ranks; communicators made of others have that of
 * the job.  If calls that repeat have tried several algorithms, it holds their times: the same on
 * all ranks once they have made the same calls.  On one host the network is assumed, and no choice
 * depends on it. Valid until the communicator is finalized. */
STRETTO_API stretto_status stretto_network_profile(stretto_comm comm, const char **json);

/* Add *nanoseconds to CLOCK_MONOTONIC of this host to get that of the host of the job's lowest
 * rank: so times of several hosts can be compared.  0 on one host.  Between hosts it is measured
 * with every heartbeat (STRETTO_HEARTBEAT).  *known is 0, and the offset too, until all ranks have
 * measured it, some two heartbeats after the start, and for a moment after a shrink.  Wrong by at
 * most half the round trip of a short message.  Not a collective. */
STRETTO_API stretto_status stretto_clock_offset(stretto_comm comm, int64_t *nanoseconds,
                                                int *known);

/* Which algorithms are worth measuring for a call of `count` elements of this type, as for
 * stretto_chosen_algorithm: those whose price is close, the choice first.  In JSON, with the keys
 * by which profiles tell calls apart:
 *   {"collective": "allreduce", "ranks": 4, "hosts": 2, "host_of": [0, 0, 1, 1], "bytes": 4096,
 *    "algorithms": ["ring", "circulant"]}
 * "host_of" is left out where every rank has a host of its own, or all have one.  STRETTO_ALGORITHM
 * is not looked at.  Not a collective.  Valid until the communicator is finalized. */
STRETTO_API stretto_status stretto_tuning_candidates(stretto_comm comm, const char *collective,
                                                     size_t count, stretto_dtype dtype,
                                                     const char **json);

#ifdef __cplusplus
}
#endif
#endif
