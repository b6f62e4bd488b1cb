// SPDX-License-Identifier: BSD-3-Clause
// What the two ways of sending slices have in common.
//
// A slice is a payload, which the device writes into the window of the receiver, and a flag behind
// it: 56 bytes, as long as the header of Stretto's messages, that name the slice.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs_watch.h"

enum { FLAG_BYTES = 56, MOST_SLICES = 256, MOST_ADDRESS_BYTES = 4096 };

struct flag {
    uint32_t slice;
    uint8_t rest[FLAG_BYTES - sizeof(uint32_t)];
};

// One of them sends, in one process, to the same one in another process.
struct way {
    const char *name;
    // The window that the peer writes; gives what the peer has to know.  Null: what the way before
    // has opened.
    void (*open)(void *window, size_t bytes, void *address);
    void (*connect)(const void *address);
    void *(*register_memory)(void *first, size_t bytes);
    void (*deregister)(void *registration);
    // The receiver, before a job.  May be null.
    void (*begin)(void);
    // Begins to send; the flag follows by itself or by progress().  Verbs want a registration.
    void (*send)(uint32_t slice, const void *from, size_t bytes, size_t at, void *registration);
    // Of both ends.  A flag that has come is given to flag_came().
    void (*progress)(void);
    size_t (*outstanding)(void); // operations that this process has begun and that are not complete
};
extern const struct way verbs_way, ucx_way, ucx_two_way, ucx_fence_way;

void flag_came(uint32_t slice);

uint64_t now_ns(void);
// Ends the process unless `fine`.
void need(bool fine, const char *what);
