/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: the settings in force, and what it finds on this machine.  A part of stretto.h, which is
 * the header to include.  `stretto info` prints all of it.
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
    STRETTO_SOURCE_RANK_0 = 4 /* rank 0's value, as it holds for the job; this is another rank */
} stretto_source;

/* One setting (docs/settings.md), or a variable that looks like one. */
typedef struct stretto_setting {
    const char *name;  /* "STRETTO_TIMEOUT" */
    const char *type;  /* "bytes", "duration", "count", "boolean", "choice" or "text"; "unknown":
                          there is no such setting */
    const char *takes; /* describes the values it takes; "" if unknown */
    const char *value; /* as it was written, or the default; "": Stretto decides as `meaning` says,
                          or there is none; "set" for a secret */
    const char *fallback; /* the default, in the same form; "" likewise */
    const char *meaning;  /* "" if unknown */
    const char *error; /* what is wrong with the value or the name, and the remedy; NULL: nothing */
    uint64_t number; /* the value: "bytes", "count"; "duration": in nanoseconds; "boolean": 0 or 1;
                        otherwise, and with an error, 0 */
    stretto_source source;
    int for_launchers; /* 1: for `stretto run` to set, rather than for users */
} stretto_setting;

/* Fills at most `capacity` lines, and sets *count to the number of all lines: all settings in the
 * order of docs/settings.md.  If a value cannot be read, this call succeeds and the line has an
 * error.
 *
 * comm NULL: the settings that stretto_init would find in the environment of this process now,
 * followed by STRETTO_ variables that are not settings.  The text is valid until the calling
 * thread's next call with NULL.
 *
 * Otherwise the settings of the communicator: from the environment when the process joined the
 * job, with later changes by the program.  On all ranks, settings that shape the job (RING_BYTES,
 * SLICE_BYTES, HEAP_BYTES) are those of rank 0.  The text is valid until the program sets something
 * or finalizes comm. */
STRETTO_API stretto_status stretto_settings(stretto_comm comm, stretto_setting *lines,
                                            size_t capacity, size_t *count);

/* ---- the machine ------------------------------------------------------------------------ */

typedef struct stretto_machine {
    const char *build;         /* the compiler and the kind of build: "GCC 12.2.0, Release" */
    const char *kernels_built; /* instruction sets that have kernels in this library, from narrow
                                  to wide with spaces between: "baseline avx2 avx512" */
    const char *kernels_able;  /* those among them that this processor has */
    const char *kernels;       /* the one in use: the widest that STRETTO_ISA allowed when the
                                  process first needed it; "" if that cannot be read */
    unsigned cores;        /* the number that Stretto uses: the least known one of the next three */
    unsigned cores_online; /* of the machine; 0: not known */
    unsigned cores_allowed; /* by the affinity of the calling thread (taskset, cpusets); 0: not
                               known, as where sched_getaffinity is forbidden */
    unsigned cores_quota;   /* the CPU quota of the control groups, in cores rounded up; 0: none */
    uint64_t memory_available; /* bytes that shared memory can take now: the smaller of the
                                  machine's available memory and the room in its control groups (v1
                                  and v2), where page cache counts as free; UINT64_MAX: not known */
    int asymmetric_barrier;    /* 1: the kernel has membarrier(2), so that publishing costs no
                                  fence; 0: it costs one */
    int string_copies;         /* 1: the processor's string instruction is a fast one, and copies
                                  use it; 0: they use vectors, or STRETTO_REP_MOVSB cannot be
                                  read */
    const char *ucx; /* why ranks here do not use UCX between hosts with STRETTO_TRANSPORT=auto,
                        and a remedy, as found first in this process; "": they can */
} stretto_machine;

/* Examines the machine now; needs no communicator.  The text is never freed. */
STRETTO_API stretto_status stretto_examine(stretto_machine *machine);

/* Measures the memory system: nanoseconds to overwrite one cache line that the neighbouring rank
 * has just read.  Collective.  0 with one rank, or if ranks 0 and 1 are on different hosts. */
STRETTO_API stretto_status stretto_probe_memory(stretto_comm comm, double *nanoseconds_per_line);

/* ---- messages --------------------------------------------------------------------------- */

/* One of the two queues in which a rank's messages are matched (docs/messages.md), since the
 * communicator was made. */
typedef struct stretto_message_queue {
    const char *scheme;   /* how it is searched now: "list", "bins", "by_source" or "hash" */
    uint64_t depth;       /* receives or messages that wait now */
    uint64_t deepest;     /* the most that have waited at the same time */
    uint64_t searches;    /* of the queue */
    uint64_t looks;       /* at receives or messages, over all searches */
    uint64_t conversions; /* from one scheme to another */
    /* When the queue was long, `counted` items waited (0: it has never been long), and most of them
     * had this source and this tag: these shares of them, from 0 to 1. */
    uint64_t counted;
    int source, tag;
    double source_share, tag_share;
} stretto_message_queue;

/* Describes the receives of this rank that wait for messages (`posted`), and the messages that wait
 * for a receive (`unexpected`).  Not a collective. */
STRETTO_API stretto_status stretto_message_queues(stretto_comm comm, stretto_message_queue *posted,
                                                  stretto_message_queue *unexpected);

/* ---- the network ------------------------------------------------------------------------ */

/* The communicator's profile of the network and of the times of calls, in JSON, in the format that
 * STRETTO_TUNING_FILE reads (docs/hosts.md).  On several hosts it was measured when the job
 * started, or read from a file, and is the same on all ranks.  Communicators made of others have
 * the job's profile.  If repeated calls have tried several algorithms, it holds their times, which
 * are the same on all ranks once they have made the same calls.  On one host the network is
 * assumed, and no choice depends on it.  Valid until the communicator is finalized. */
STRETTO_API stretto_status stretto_network_profile(stretto_comm comm, const char **json);

/* The offset by which times of several hosts can be compared: CLOCK_MONOTONIC of this host plus
 * *nanoseconds is that of the host of the job's lowest rank.  0 on one host.  Between hosts it is
 * measured with every heartbeat (STRETTO_HEARTBEAT).  Until all ranks have measured it, about two
 * heartbeats after the start, and for a moment after a shrink, *known and the offset are 0.  The
 * error is at most half the round trip of a short message.  Not a collective. */
STRETTO_API stretto_status stretto_clock_offset(stretto_comm comm, int64_t *nanoseconds,
                                                int *known);

/* The algorithms that are worth measuring for a call of `count` elements of this type (counted as
 * in stretto_chosen_algorithm): those whose price is close to the least, the library's choice
 * first.  In JSON, with the keys that identify calls in profiles:
 *   {"collective": "allreduce", "ranks": 4, "hosts": 2, "host_of": [0, 0, 1, 1], "bytes": 4096,
 *    "algorithms": ["ring", "circulant"]}
 * "host_of" is left out if every rank has a host of its own, or if all ranks share one.
 * STRETTO_ALGORITHM is ignored.  Not a collective.  Valid until the communicator is finalized. */
STRETTO_API stretto_status stretto_tuning_candidates(stretto_comm comm, const char *collective,
                                                     size_t count, stretto_dtype dtype,
                                                     const char **json);

#ifdef __cplusplus
}
#endif
#endif
