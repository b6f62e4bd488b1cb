// SPDX-License-Identifier: BSD-3-Clause
// The receiver: notes when payloads and flags come, and checks every word.
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "processes.h"

enum { PAGE_BYTES = 4096 };
static const uint64_t silence_ns = 200000000u, poison = ~UINT64_C(0);

static uint64_t *window; // the peer writes it
static uint32_t payloads_come, flags_come;

static bool is_there(uint32_t slice, size_t index) {
    const struct job *const job = &shared->job;
    const volatile uint64_t *const word = window + slice * (job->bytes / sizeof(*window)) + index;
    return *word == word_of(job->round, slice, index);
}

static void look_at_payloads(void) {
    const size_t last = shared->job.bytes / sizeof(*window) - 1;
    while (payloads_come < shared->job.slices && is_there(payloads_come, last))
        shared->payload_ns[payloads_come++] = now_ns();
}

void flag_came(uint32_t slice) {
    const size_t words = shared->job.bytes / sizeof(*window), step = PAGE_BYTES / sizeof(*window);
    look_at_payloads();
    shared->flag_ns[slice] = now_ns();
    ++flags_come;
    bool whole = is_there(slice, words - 1);
    for (size_t index = 0; index < words; index += step)
        whole = whole && is_there(slice, index);
    shared->early_flags += !whole;
}

static void receive(const struct way *way) {
    const struct job *const job = &shared->job;
    uint64_t silent_since = 0;
    for (int looks = 0; flags_come < job->slices; ++looks) {
        look_at_payloads();
        way->progress();
        const uint64_t now = now_ns();
        need(looks < MOST_LOOKS, "flags do not come");
        if (job->silent && payloads_come == job->slices && silent_since == 0)
            silent_since = now;
        if (job->silent && silent_since != 0 && now - silent_since > silence_ns)
            atomic_store(&shared->let_go, 1);
        usleep(NAP_US);
    }
    look_at_payloads();
    shared->flag_in_silence = job->silent && atomic_exchange(&shared->let_go, 1) == 0;
    for (uint32_t slice = 0; slice < job->slices; ++slice)
        for (size_t index = 0; index < job->bytes / sizeof(*window); ++index)
            need(is_there(slice, index), "the payload is another");
}

void run_receiver(const struct way *const ways[WAYS], uint64_t *own_window) {
    window = own_window;
    for (int order = 1;; ++order) {
        wait_for(&shared->order, order);
        const struct job *const job = &shared->job;
        if (job->slices == 0)
            return;
        need(job->slices * job->bytes <= WINDOW_BYTES, "room in the window");
        for (size_t i = 0; i < job->slices * job->bytes / sizeof(*window); ++i)
            window[i] = poison;
        memset(shared->payload_ns, 0, sizeof(shared->payload_ns));
        memset(shared->flag_ns, 0, sizeof(shared->flag_ns));
        payloads_come = flags_come = 0;
        shared->early_flags = 0;
        verbs_counts.received_bytes = 0;
        atomic_store(&shared->let_go, 0);
        if (ways[job->way]->begin != NULL)
            ways[job->way]->begin();
        atomic_store(&shared->ready, order);
        receive(ways[job->way]);
        shared->received_bytes = verbs_counts.received_bytes;
        atomic_store(&shared->done, order);
    }
}
