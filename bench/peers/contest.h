/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that are compared: how each contestant calls them, and what must come out.
 */
#ifndef PEERS_CONTEST_H
#define PEERS_CONTEST_H

#include <stddef.h>

#include "stretto/stretto.h"

enum { PEER, STRETTO, SHARED, MEMCPY, CONTESTANTS };

typedef struct {
    int rank, size;
    stretto_comm comm;
    float *send, *recv;               /* from malloc */
    float *shared_send, *shared_recv; /* from stretto_alloc; or NULL */
} Ranks;

/* A vector has `count` elements: what reduce-scatter takes from a rank and allgather gives to it.
 * The root is rank 0. */
typedef struct {
    const char *name;
    int parted; /* the vector is cut among the ranks: count is a multiple of their number */
    int whole;  /* elements are int32 in place of floats: any order of additions will do */
    void (*peer)(const Ranks *ranks, size_t count);
    void (*stretto)(const Ranks *ranks, const float *send, float *recv, size_t count);
    /* This rank's result: how many elements, and what element i is. */
    size_t (*result)(const Ranks *ranks, size_t count);
    float (*expected)(const Ranks *ranks, size_t count, size_t i);
} Contest;

/* NULL if there is none of this name. */
const Contest *contest_named(const char *name);
/* "allreduce, reduce, ..." */
const char *contest_names(void);

/* Fills what the ranks send, in both kinds of buffers if there are both. */
void contest_fill(const Contest *contest, const Ranks *ranks, size_t count);
/* Makes the buffer of results ready for one call: poisoned, so that what is not written shows. */
void contest_poison(const Contest *contest, const Ranks *ranks, int contestant, size_t count);
void contest_call(const Contest *contest, const Ranks *ranks, int contestant, size_t count);
/* How many elements of this rank's result are wrong. */
double contest_wrong(const Contest *contest, const Ranks *ranks, int contestant, size_t count);

/* Ends the job with Stretto's message if the status is an error. */
void check(stretto_status status);

#endif
