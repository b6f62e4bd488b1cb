/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of a trial.  Collective, size and type of call `number` depend only on the trial's
 * seed, so all ranks make the same calls.  A rank's contribution depends on the rank, the index and
 * the number of the call, so a result of another call, or with a block in the wrong place, is
 * wrong. Contributions are small whole numbers, so sums are exact in every type.
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
/* For lab/soak: a call about as large as the smallest calls whose arrivals the library measures. */
struct call watched_call_of(uint64_t seed, uint64_t number);
/* "iallreduce of 1009 float32 sum". */
void describe_call(const struct call *call, char *text, size_t size);
/* Whether the library counts the call as completed: it does not count messages. */
int is_collective(const struct call *call);

/* Makes the call and checks its result; *wrong: the number of wrong elements. */
stretto_status make_call(const struct crew *crew, const struct call *call, uint64_t number,
                         size_t *wrong);
void free_buffers(void);

#endif
