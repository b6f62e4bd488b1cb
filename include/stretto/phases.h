/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Telling how far a computation is, so that the collective after it is served for the time at which
 * this rank will come.  A part of stretto.h, which is the header to include.
 */
#ifndef STRETTO_PHASES_H
#define STRETTO_PHASES_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A phase of computation begins; the next blocking allreduce that arrivals matter to (docs/
 * arrivals.md) ends it.  For loops: each phase is compared with the last ones that ended in the
 * same call; of several calls that take turns, the one is expected that came next the last time.
 * Local: nobody is waited for. */
STRETTO_API stretto_status stretto_phase_begin(stretto_comm comm);

/* So much of the phase is done: above 0 and up to 1, of the time that all of it takes.  0.5 in the
 * middle of the computation is Proficz' edge() (2018, section 3.1), which others take to end as
 * much later as it has taken so far.  It may be called several times, by any thread, also from a
 * callback: the last word counts.  If the rank keeps to its habit this costs less than a
 * microsecond and nothing is sent; else one message goes to one rank.  Outside of a phase it does
 * nothing, as a callback may come late.  What is said changes speed, never results.
 * STRETTO_ERR_ARGUMENT for other fractions. */
STRETTO_API stretto_status stretto_edge(stretto_comm comm, double fraction);

#ifdef __cplusplus
}
#endif
#endif
