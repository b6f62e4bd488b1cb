// SPDX-License-Identifier: BSD-3-Clause
// The program defines the functions that register memory and open a device, so the linker finds
// them here first; those that post and poll are pointers in the device's context, which are
// replaced when it is opened.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <time.h>

#include "verbs_watch.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct verbs_counts verbs_counts;

// The library is loaded by now, but perhaps for a plugin alone.
static void *real_function(const char *name) {
    return dlsym(dlopen("libibverbs.so.1", RTLD_LAZY), name);
}

static uintptr_t watched_begin, watched_end;
// All contexts are of one driver.
static int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*poll_cq)(struct ibv_cq *, int, struct ibv_wc *);

void watch_memory(const void *first, size_t bytes) {
    watched_begin = (uintptr_t)first;
    watched_end = watched_begin + bytes;
}

static void add(uint64_t *count, uint64_t more) {
    __atomic_fetch_add(count, more, __ATOMIC_RELAXED);
}

static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void count_post(const struct ibv_send_wr *request) {
    const int writes =
        request->opcode == IBV_WR_RDMA_WRITE || request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    add(writes ? &verbs_counts.writes : &verbs_counts.sends, 1);
    uint64_t bytes = 0;
    for (int i = 0; i < request->num_sge; ++i) {
        const struct ibv_sge *const piece = &request->sg_list[i];
        bytes += piece->length;
        if (request->send_flags & IBV_SEND_INLINE)
            add(&verbs_counts.inline_bytes, piece->length);
        else if (piece->addr >= watched_begin && piece->addr + piece->length <= watched_end)
            add(&verbs_counts.watched_bytes, piece->length);
        else
            add(&verbs_counts.other_bytes, piece->length);
    }
    if (writes && bytes == 0)
        add(&verbs_counts.empty_writes, 1);
    if (writes)
        add(&verbs_counts.written_bytes, bytes);
}

static int watched_post_send(struct ibv_qp *queue, struct ibv_send_wr *first,
                             struct ibv_send_wr **bad) {
    for (const struct ibv_send_wr *each = first; each != NULL; each = each->next)
        count_post(each);
    return post_send(queue, first, bad);
}

static int watched_poll_cq(struct ibv_cq *queue, int most, struct ibv_wc *done) {
    const int found = poll_cq(queue, most, done);
    for (int i = 0; i < found; ++i) {
        if (done[i].status == IBV_WC_SUCCESS && done[i].opcode == IBV_WC_RECV)
            add(&verbs_counts.received_bytes, done[i].byte_len);
        else if (done[i].status == IBV_WC_SUCCESS && done[i].opcode != IBV_WC_RECV_RDMA_WITH_IMM)
            add(&verbs_counts.completions, 1);
    }
    return found;
}

struct ibv_context *ibv_open_device(struct ibv_device *device) {
    struct ibv_context *(*const real)(struct ibv_device *) =
        (struct ibv_context * (*)(struct ibv_device *)) real_function("ibv_open_device");
    struct ibv_context *const context = real(device);
    if (context == NULL)
        return NULL;
    post_send = context->ops.post_send;
    poll_cq = context->ops.poll_cq;
    context->ops.post_send = watched_post_send;
    context->ops.poll_cq = watched_poll_cq;
    return context;
}

// One of these functions may call the other: the inner call does not count.
static _Thread_local int depth;

static struct ibv_mr *counted(struct ibv_mr *made, size_t bytes, uint64_t began) {
    if (--depth != 0)
        return made;
    add(&verbs_counts.registration_ns, clock_ns() - began);
    if (made != NULL) {
        add(&verbs_counts.registrations, 1);
        add(&verbs_counts.registered_bytes, bytes);
    }
    return made;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *domain, void *first, size_t bytes, int access) {
    struct ibv_mr *(*const real)(struct ibv_pd *, void *, size_t, int) =
        (struct ibv_mr * (*)(struct ibv_pd *, void *, size_t, int)) real_function("ibv_reg_mr");
    const uint64_t began = clock_ns();
    ++depth;
    return counted(real(domain, first, bytes, access), bytes, began);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *domain, void *first, size_t bytes, uint64_t at,
                                unsigned access) {
    struct ibv_mr *(*const real)(struct ibv_pd *, void *, size_t, uint64_t, unsigned) =
        (struct ibv_mr * (*)(struct ibv_pd *, void *, size_t, uint64_t, unsigned))
            real_function("ibv_reg_mr_iova2");
    const uint64_t began = clock_ns();
    ++depth;
    return counted(real(domain, first, bytes, at, access), bytes, began);
}

int ibv_dereg_mr(struct ibv_mr *memory) {
    int (*const real)(struct ibv_mr *) = (int (*)(struct ibv_mr *))real_function("ibv_dereg_mr");
    add(&verbs_counts.deregistrations, 1);
    return real(memory);
}
