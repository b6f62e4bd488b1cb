/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto under another library, such as one of MPI: joining by its help, and its work while ranks
 * wait here.  A part of stretto.h, which is the header to include.
 */
#ifndef STRETTO_HOSTING_H
#define STRETTO_HOSTING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gives every rank what all have: `bytes` bytes from `mine` of each, by rank, to `all`.  0: done.
 */
typedef int (*stretto_allgather_function)(const void *mine, void *all, size_t bytes, void *context);
/* Joins ranks that something else connects already, such as MPI: by its help they agree on a name
 * of the job and, on several hosts, on where to meet and on a secret; no setting is needed.  All
 * ranks call, and `allgather` is called equally often by all, in this thread.  Collective. */
STRETTO_API stretto_status stretto_init_by_exchange(int rank, int size,
                                                    stretto_allgather_function allgather,
                                                    void *context, stretto_comm *comm);

/* What this thread does besides while it waits in Stretto: `function` is called again and again, at
 * first after 50 us, then ever more seldom, and at least every millisecond as long as the wait
 * lasts; sooner again after a call that took longer than others, and so got something done.  It may
 * call anything but Stretto; it must not throw.  For libraries whose own transfers move in their
 * calls only.  NULL: nothing. */
typedef void (*stretto_idle_function)(void *context);
STRETTO_API void stretto_set_idle(stretto_idle_function function, void *context);

/* Whether a communicator that is made of another lets the library choose where STRETTO_ALGORITHM
 * names an algorithm that cannot run on so few ranks; one warning of the process says so.  0, the
 * default: such a communicator is not made.  For programs that do not know of the setting.  Holds
 * for the process, and has to be the same on all ranks. */
STRETTO_API void stretto_set_forced_fallback(int enabled);

#ifdef __cplusplus
}
#endif
#endif
