// SPDX-License-Identifier: BSD-3-Clause
// What the sender and the receiver, its child, share; and what both need.
#pragma once

#include <stdatomic.h>

#include "rdma_bench.h"

enum { WAYS = 4, WINDOW_BYTES = 16 << 20 };
// How often one looks for what ought to come.  No time: a machine may be stopped for a while.
// Who looks in vain naps, and leaves the processors to the device, which is software.
enum { MOST_LOOKS = 1000000, NAP_US = 20 };

// What the sender asks of the receiver.
struct job {
    int way, round;
    uint32_t slices;
    size_t bytes; // of a slice
    bool silent;  // the sender waits without progress until the receiver lets it go
};

// Of both processes.
struct shared {
    atomic_int order, ready, done, steps[2], let_go;
    struct job job;
    uint64_t payload_ns[MOST_SLICES], flag_ns[MOST_SLICES]; // when they came; 0: not yet
    uint64_t early_flags;                                   // that came before their payload
    uint64_t received_bytes;                                // of messages
    bool flag_in_silence;
    char address[WAYS][2][MOST_ADDRESS_BYTES];
};
extern struct shared *shared;

// Where the receiver waits for jobs, until one has no slices.
void run_receiver(const struct way *const ways[WAYS], uint64_t *window);

void wait_for(atomic_int *word, int least);
uint64_t *memory_of(size_t bytes);

// Depends on round, slice and place.
static inline uint64_t word_of(int round, uint32_t slice, size_t index) {
    return (uint64_t)(round + 1) << 40 | (uint64_t)slice << 24 | index;
}
