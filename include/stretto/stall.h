/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A callback that tells of a rank that does not come, long before the call times out.  A part of
 * stretto.h, which is the header to include.
 */
#ifndef STRETTO_STALL_H
#define STRETTO_STALL_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call in which this rank waits for longer than earlier calls explain.  Pointers are valid while
 * the function runs. */
typedef struct stretto_stall {
    const char *text;       /* all of it in a sentence */
    const char *collective; /* with its arguments: "allreduce(8192 x float32, sum)" */
    uint64_t call;          /* its number, as errors tell it */
    int rank;               /* this one */
    const int *ranks;       /* ranks that have not come; if all have, those that get nothing done */
    int count;              /* of `ranks`; 0: all have come, and wait for one another */
    int all_came;           /* 1 if no rank is missing, else 0 */
    int lowest;             /* 1 if no lower rank waits on this host: so one rank can log it */
    double waited_seconds;  /* since this rank got anything done last */
    double longest_seconds; /* the longest such wait before, in calls of the same kind */
} stretto_stall;

typedef void (*stretto_stall_function)(const stretto_stall *stall, void *context);

/* From now on `function` is called when this rank waits in a collective of comm for longer than
 * `factor` times the longest wait in earlier calls of the same kind (collective, type, count,
 * operation) and `floor_seconds` on top: once for each call, by the thread that waits.  The call
 * goes on, and ends as it would have; STRETTO_TIMEOUT still holds.  `function` may take as
 * long as it likes, but meanwhile this rank gets nothing done.  An exception that it throws is
 * dropped.  With comm it may call stretto_rank and stretto_size only.  It may be called until
 * another is set or comm is finalized; set another only while no other thread is in a call of comm.
 * `function` takes the place of the line on standard error that STRETTO_STALL_WARNING asks for.
 * NULL: no callback.  Waits of less than 2 ms within a host, 20 ms between hosts, are not looked
 * at; messages, and collectives that are made of messages, neither.  Communicators made of comm
 * have callbacks of their own.  Local.  STRETTO_ERR_ARGUMENT for a factor below 0, a floor that is
 * not above 0, or what is no number. */
STRETTO_API stretto_status stretto_set_stall_callback(stretto_comm comm,
                                                      stretto_stall_function function,
                                                      void *context, double factor,
                                                      double floor_seconds);

#ifdef __cplusplus
}
#endif
#endif
