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
 * or after its parent, and what fails in one does not fail in the other; but on several hosts all
 * fail when a rank of the job dies or its own communicator fails.  Creation ends with an error at
 * all if one has died, has no memory for it (then the parent has failed as well) or is too late. */

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

/* What is left of a job after a failure: a communicator of the ranks that have called this, in
 * their old order.  `comm` has failed; it is that of stretto_init or what an earlier call of this
 * gave (others: STRETTO_ERR_UNSUPPORTED; shrink that one, and make them of the result again).
 *
 * Every rank that was told of the failure calls it.  Who has died, or has finalized comm, is not
 * waited for; who lives and does not call is, for STRETTO_TIMEOUT.  If another one is lost
 * meanwhile, the rest starts over by itself.  When it returns, nothing that was in flight on comm
 * writes into any buffer; what was set for comm holds for the result, and comm can be finalized.
 *
 * *completed (may be NULL): of the calls of collectives on comm, in the order in which they were
 * made, so many every rank of the result has completed.  Whatever came after is to be repeated,
 * also by ranks that had its result already.  Creating a communicator by split or dup counts as a
 * call.
 *
 * STRETTO_ERR_EXCLUDED: the others went on without this rank, because it was stopped or cut off;
 * or, in a job on several hosts, less than half of comm's ranks are left here (of two halves that
 * with its lowest rank goes on), so that others may go on elsewhere.  There is no way back into the
 * job. STRETTO_ERR_ARGUMENT: comm has not failed, or has shrunk before. */
STRETTO_API stretto_status stretto_comm_shrink(stretto_comm comm, uint64_t *completed,
                                               stretto_comm *result);

#ifdef __cplusplus
}
#endif
#endif
