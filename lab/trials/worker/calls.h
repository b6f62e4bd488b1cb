/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of a trial: which collective, how large and of what type call `number` is, follows from
 * the trial's seed alone, so that all ranks make the same.  What a rank contributes depends on the
 * rank, the index and the number of the call: an answer of another call, or with a block in the
 * wrong place, is a wrong one.  Sums are of small whole numbers, and exact in every type.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <stretto/stretto.h>

#define MOST_RANKS 256

/* splitmix64's output function (Steele, Lea, Flood 2014): every bit depends on every bit. */
uint64_t mixed(uint64_t x);

/* The ranks of the communicator. */
struct crew {
    stretto_comm comm;
    int rank, size;
    int members[MOST_RANKS]; /* by rank: the rank in the job as it began */
};

struct call {
    int kind;
    int nonblocking;
    stretto_dtype dtype;
    stretto_op op;
    int root;
    size_t count; /* elements; of a part where each rank has one */
};

struct call call_of(uint64_t seed, uint64_t number, const struct crew *crew);
/* For lab/soak: a call about as large as those from which on arrivals are watched. */
struct call watched_call_of(uint64_t seed, uint64_t number);
/* "iallreduce of 1009 float32 sum". */
void describe_call(const struct call *call, char *text, size_t size);
/* Whether the library counts it: messages are no collectives. */
int is_collective(const struct call *call);

/* Makes the call and looks at its answer: *wrong is how many elements of it are. */
stretto_status make_call(const struct crew *crew, const struct call *call, uint64_t number,
                         size_t *wrong);
void free_buffers(void);

#endif
