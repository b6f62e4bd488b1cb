/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank reports how far its computation is, so that the other ranks know when it will arrive at
 * the next collective.  A part of stretto.h, which is the header to include.
 */
#ifndef STRETTO_PHASES_H
#define STRETTO_PHASES_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a phase of computation.  The next blocking allreduce that takes arrivals into account
 * (docs/arrivals.md) ends it.  This is made for loops: a phase is compared with earlier phases that
 * ended in the same call.  If several calls take turns, the expected one is that which followed the
 * last time.  Local. */
STRETTO_API stretto_status stretto_phase_begin(stretto_comm comm);

/* Reports that this fraction of the phase's time has passed: above 0, up to 1.  0.5 in the middle
 * of the computation is Proficz' edge() (2018, section 3.1): the phase is expected to take as long
 * again.  Any thread may call it, any number of times, also from a callback; the last call counts.
 * If the rank will arrive about when it usually does, a call takes less than a microsecond and
 * sends nothing; otherwise it sends one message to one rank.  Outside of a phase it does nothing,
 * since a callback may run late.  It affects speed, never results.  STRETTO_ERR_ARGUMENT for other
 * fractions. */
STRETTO_API stretto_status stretto_edge(stretto_comm comm, double fraction);

#ifdef __cplusplus
}
#endif
#endif
