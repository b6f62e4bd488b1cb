/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: communicators made of others, and what is left of one after a failure.  A part of
 * stretto.h, which is the header to include.
 */
#ifndef STRETTO_COMMUNICATORS_H
#define STRETTO_COMMUNICATORS_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- communicators made of others ------------------------------------------------------- */

/* A child is as good as a communicator of stretto_init: it is used and finalized by itself, before
 * or after its parent, and a failure of one is no failure of the other.  But on several hosts all
 * communicators fail when a rank of the job dies or the job's own communicator fails.  Creation
 * ends with an error on all ranks if one of them has died, has no memory for it (then the parent
 * has failed as well) or is too late. */

/* Ranks that give the same color (not negative) are together, in the order of `key` and then of
 * their ranks; STRETTO_UNDEFINED gives NULL.  A collective. */
#define STRETTO_UNDEFINED (-1)
STRETTO_API stretto_status stretto_comm_split(stretto_comm comm, int color, int key,
                                              stretto_comm *result);
/* The same ranks again, with a forced algorithm and all else that was set.  A collective. */
STRETTO_API stretto_status stretto_comm_dup(stretto_comm comm, stretto_comm *result);
/* The `count` listed ranks, in this order.  Only they call, with the same list and tag; several
 * threads may at once, as long as their lists or tags differ. */
STRETTO_API stretto_status stretto_comm_create(stretto_comm comm, const int ranks[], int count,
                                               int tag, stretto_comm *result);
/* Which rank of its parent a rank of a child is; -1 if there is none, or comm is NULL. */
STRETTO_API int stretto_comm_parent_rank(stretto_comm comm, int rank);

/* ---- going on after a failure ------------------------------------------------------------ */

/* Makes a communicator of the ranks that are left of a job after a failure: those that call this,
 * in their old order.  `comm` has failed, and is the result of stretto_init or of an earlier
 * shrink. (Another communicator is STRETTO_ERR_UNSUPPORTED: shrink the job's own, and make it of
 * the result again.)
 *
 * Every rank that got an error of comm calls it.  It does not wait for a rank that has died or has
 * finalized comm; it waits for a rank that lives and does not call, for STRETTO_TIMEOUT.  If
 * another rank is lost meanwhile, the rest starts over by itself.  When it returns, no call that
 * was in flight on comm writes into any buffer.  Settings of comm hold for the result, and comm can
 * be finalized.
 *
 * *completed (may be NULL): how many calls of collectives on comm, from the first on, every rank of
 * the result has completed.  All ranks repeat the calls after these, also ranks that had their
 * results already.  Creating a communicator by split or dup counts as a call.
 *
 * STRETTO_ERR_EXCLUDED: the others went on without this rank, because it was stopped or cut off;
 * or, in a job on several hosts, less than half of comm's ranks are left here, so that others may
 * go on elsewhere (of two halves, the one with the lowest rank goes on).  This rank cannot come
 * back into the job.  STRETTO_ERR_ARGUMENT: comm has not failed, or has shrunk before. */
STRETTO_API stretto_status stretto_comm_shrink(stretto_comm comm, uint64_t *completed,
                                               stretto_comm *result);

#ifdef __cplusplus
}
#endif
#endif
