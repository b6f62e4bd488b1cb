/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: communicators made of others, and going on after a failure.  A part of stretto.h, which
 * is the header to include.
 */
#ifndef STRETTO_COMMUNICATORS_H
#define STRETTO_COMMUNICATORS_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- communicators made of others ------------------------------------------------------- */

/* A communicator that is made of another (a child) has all functions of one that stretto_init made.
 * It is used and finalized independently, before or after its parent, and the failure of one does
 * not fail the other.  There is one exception: on several hosts, all communicators fail if a rank
 * of the job dies or the job's own communicator fails.  Creation returns an error on all ranks if
 * one of them has died, has no memory for it (then the parent fails as well) or does not come in
 * time.  On one host it opens no file and takes a few pages of memory.  The first collective call
 * takes the rest (STRETTO_RING_BYTES, twice for each rank); if there is none, that call is
 * STRETTO_ERR_MEMORY on all ranks. */

/* Makes a communicator of all ranks that pass the same color, in the order of `key` and then of
 * their ranks.  Colors are not negative; a rank that passes STRETTO_UNDEFINED gets NULL.  A
 * collective. */
#define STRETTO_UNDEFINED (-1)
STRETTO_API stretto_status stretto_comm_split(stretto_comm comm, int color, int key,
                                              stretto_comm *result);
/* Makes a communicator of the same ranks.  It has the settings of comm, such as a forced algorithm.
 * A collective. */
STRETTO_API stretto_status stretto_comm_dup(stretto_comm comm, stretto_comm *result);
/* Makes a communicator of the `count` listed ranks, in this order.  Only these ranks call, with the
 * same list and tag.  Several threads may call at the same time if their lists or tags differ. */
STRETTO_API stretto_status stretto_comm_create(stretto_comm comm, const int ranks[], int count,
                                               int tag, stretto_comm *result);
/* The rank in the parent of a rank of a child; -1 if there is none, or if comm is NULL. */
STRETTO_API int stretto_comm_parent_rank(stretto_comm comm, int rank);

/* ---- ending calls, and going on after a failure ------------------------------------------ */

/* Fails the communicator on all ranks: calls and waits of all threads that are in it end with
 * STRETTO_ERR_ABORTED, those of this rank within milliseconds; the message names this rank and the
 * `reason` (may be NULL), of which some hundred bytes are kept.  Any thread may call it at any
 * time, also while others are inside.  Local; does not wait.  Does nothing if the communicator has
 * failed already.  After it, as after any failure, the ranks can finalize the communicator or
 * shrink it. */
STRETTO_API stretto_status stretto_comm_abort(stretto_comm comm, const char *reason);

/* Makes a communicator of the ranks that call this after a failure, in their old order.  `comm` has
 * failed, and is the result of stretto_init or of an earlier shrink.  (For another communicator
 * this is STRETTO_ERR_UNSUPPORTED: shrink the job's own, and make the other one again of the
 * result.)
 *
 * Every rank that got an error of comm calls it.  It does not wait for a rank that has died or has
 * finalized comm.  For a rank that lives and does not call, it waits for STRETTO_TIMEOUT, or, if
 * that is 0, for the limit of stretto_set_timeout.  If another rank is lost meanwhile, the
 * remaining ranks start over automatically.  When it returns, no call that was in flight on comm
 * writes into any buffer.  The settings of comm hold for the result, and comm can be finalized.
 *
 * *completed (may be NULL): the number of collective calls on comm, counted from the first, that
 * every rank of the result has completed.  All ranks repeat the calls after these, including ranks
 * that already had the results.  Creating a communicator by split or dup counts as a call.
 *
 * STRETTO_ERR_EXCLUDED: the other ranks continued without this rank, because it was stopped or cut
 * off.  Or, in a job on several hosts, fewer than half of comm's ranks are left here, so that the
 * others may continue elsewhere (of two equal halves, the one with the lowest rank continues).
 * This rank cannot join the job again.  STRETTO_ERR_ARGUMENT: comm has not failed, or has shrunk
 * before. */
STRETTO_API stretto_status stretto_comm_shrink(stretto_comm comm, uint64_t *completed,
                                               stretto_comm *result);

#ifdef __cplusplus
}
#endif
#endif
