/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto under another library, such as one of MPI: joining by its help, and running its work
 * while ranks wait here.  A part of stretto.h, which is the header to include.
 */
#ifndef STRETTO_EMBEDDING_H
#define STRETTO_EMBEDDING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gathers `bytes` bytes from `mine` of every rank into `all`, by rank, on all ranks.  0: done. */
typedef int (*stretto_allgather_function)(const void *mine, void *all, size_t bytes, void *context);
/* Joins ranks that another library, such as MPI, connects already.  By its help they agree on a
 * name of the job and, on several hosts, on an address to meet at and on a secret; no setting is
 * needed. `allgather` is called equally often on all ranks, in this thread.  Collective. */
STRETTO_API stretto_status stretto_init_by_exchange(int rank, int size,
                                                    stretto_allgather_function allgather,
                                                    void *context, stretto_comm *comm);

/* While this thread waits in Stretto, `function` is called again and again: at first after 50 us,
 * then ever more seldom, but at least every millisecond; sooner again after a call of it that took
 * longer than others, and so got something done.  It may call anything but Stretto; it must not
 * throw.  For libraries whose own transfers move in their calls only.  NULL: nothing is called. */
typedef void (*stretto_idle_function)(void *context);
STRETTO_API void stretto_set_idle(stretto_idle_function function, void *context);

/* STRETTO_ALGORITHM may name an algorithm that cannot run on the few ranks of a communicator that
 * is made of another.  1: the library then chooses for that communicator, and warns once in a
 * process. 0, the default: creating it fails.  For programs that do not know of the setting.  Holds
 * for the process, and has to be the same on all ranks. */
STRETTO_API void stretto_set_forced_fallback(int enabled);

#ifdef __cplusplus
}
#endif
#endif
