/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where ranks meet outside every library that is timed: a barrier that favours none of them, a
 * decision that all share, and the probe of the machine's state.
 */
#ifndef PEERS_MEETING_H
#define PEERS_MEETING_H

#include <stdint.h>

typedef struct Meeting Meeting;

/* Meets the other ranks of MPI_COMM_WORLD, in memory that all of them see.  With `file` NULL they
 * are on one host, and each is pinned to core `rank % cores` of those it may use.  Else they are on
 * hosts of the lab, which share a file system: `file` names an empty file there.
 * Ends the job with a message when the system refuses. */
Meeting *meeting_open(int rank, int size, const char *file);
int meeting_cores(const Meeting *meeting);

/* A barrier.  Every rank writes its own line and reads all lines, so that all leave together. */
void meeting_barrier(Meeting *meeting);

/* The same for ranks of which some are long in coming: those who wait sleep, so that they take no
 * processor time from the others; they leave as fast as the last to come wakes them. */
void meeting_gather(Meeting *meeting);

/* Rank 0's `value`, on every rank. */
int meeting_agree(Meeting *meeting, int value);

/* Nanoseconds for rank 0 to overwrite one cache line that rank 1 has just read, median of several
 * passes over 64 KiB; the same number on every rank.  0 where both share a core. */
double meeting_probe(Meeting *meeting);

/* A clock of a few nanoseconds: cycles of the time stamp counter where there is one. */
uint64_t ticks(void);
double ns_per_tick(void);

#endif
