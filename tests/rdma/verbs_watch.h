// SPDX-License-Identifier: BSD-3-Clause
// Counts what a process asks of libibverbs, whatever library does so, by any of its threads.  The
// program exports the functions of verbs_watch.c (-rdynamic).
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct verbs_counts {
    uint64_t registrations, registered_bytes, deregistrations;
    uint64_t registration_ns; // within ibv_reg_mr
    // Work requests posted, and the bytes that they send: from the watched memory, from other
    // registered memory, or copied into the request itself.
    uint64_t writes, sends, watched_bytes, other_bytes, inline_bytes;
    uint64_t written_bytes;  // of those, bytes that the device writes into the peer's memory
    uint64_t empty_writes;   // whose end shows that what was posted before has ended
    uint64_t received_bytes; // by messages, into receive buffers
    uint64_t completions;
};
extern struct verbs_counts verbs_counts;
void watch_memory(const void *first, size_t bytes);

#ifdef __cplusplus
}
#endif
