/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A callback that reports a rank that does not come, long before the call times out.  A part of
 * stretto.h, which is the header to include.
 */
#ifndef STRETTO_STALL_H
#define STRETTO_STALL_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call in which this rank waits much longer than in earlier similar calls.  Pointers are valid
 * while the function runs. */
typedef struct stretto_stall {
    const char *text;       /* the whole report in a sentence */
    const char *collective; /* with its arguments: "allreduce(8192 x float32, sum)" */
    uint64_t call;          /* its number, as in errors */
    int rank;               /* this one */
    const int *ranks; /* ranks that have not come; if all have come, ranks that make no progress */
    int count;        /* of `ranks`; 0: all have come, and wait for one another */
    int all_came;     /* 1 if no rank is missing, else 0 */
    int lowest; /* 1 on the lowest rank of this host that waits, so that one rank can log it */
    double waited_seconds;  /* since this rank made progress last */
    double longest_seconds; /* the longest earlier wait in similar calls */
} stretto_stall;

typedef void (*stretto_stall_function)(const stretto_stall *stall, void *context);

/* Sets a stall callback.  The library calls it when this rank waits in a collective of comm for
 * longer than `factor` times the longest wait of earlier similar calls (same collective, type,
 * count and operation), plus `floor_seconds`.  It is called once for each call, by the thread that
 * waits.  The call goes on and ends as it would have; STRETTO_TIMEOUT still holds.  The callback
 * may take any time, but this rank makes no progress meanwhile.  An exception that it throws is
 * dropped.  With comm it may call only stretto_rank and stretto_size.  It may be called until
 * another one is set or comm is finalized; set another one only while no other thread is in a call
 * of comm.  It replaces the line on standard error that STRETTO_STALL_WARNING asks for.  NULL: no
 * callback.  Waits of less than 2 ms within a host, or 20 ms between hosts, are not watched, nor
 * are messages and collectives that are made of messages.  Communicators made of comm have
 * callbacks of their own.  Local.  STRETTO_ERR_ARGUMENT for a factor below 0, a floor that is not
 * above 0, or NaN. */
STRETTO_API stretto_status stretto_set_stall_callback(stretto_comm comm,
                                                      stretto_stall_function function,
                                                      void *context, double factor,
                                                      double floor_seconds);

#ifdef __cplusplus
}
#endif
#endif
