/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank says how far its computation is, so that the other ranks know when it will come to the
 * next collective.  A part of stretto.h, which is the header to include.
 */
#ifndef STRETTO_PHASES_H
#define STRETTO_PHASES_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A phase of computation begins.  The next blocking allreduce for which arrivals count
 * (docs/arrivals.md) ends it.  Made for loops: a phase is compared with the last phases that ended
 * in the same call; if several calls take turns, the one is expected that came next the last time.
 * Local. */
STRETTO_API stretto_status stretto_phase_begin(stretto_comm comm);

/* This fraction of the phase is done: above 0 and up to 1, of the time that all of it takes.  0.5
 * in the middle of the computation is Proficz' edge() (2018, section 3.1): the phase is expected to
 * take as long again.  It may be called several times, by any thread, also from a callback; the
 * last call counts.  If the rank will come about when it usually does, a call takes less than a
 * microsecond and sends nothing; otherwise it sends one message to one rank.  Outside of a phase it
 * does nothing, as a callback may come late.  It changes speed, never results.
 * STRETTO_ERR_ARGUMENT for other fractions. */
STRETTO_API stretto_status stretto_edge(stretto_comm comm, double fraction);

#ifdef __cplusplus
}
#endif
#endif
