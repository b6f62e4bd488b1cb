/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    ALLREDUCE,
    REDUCE,
    BROADCAST,
    REDUCE_SCATTER,
    ALLGATHER,
    GATHER,
    SCATTER,
    ALLTOALL,
    BARRIER,
    EXCHANGE, /* a message to the next rank, one from the previous */
    KINDS
};

static const char *const kind_names[KINDS] = {"allreduce", "reduce",  "broadcast", "reduce_scatter",
                                              "allgather", "gather",  "scatter",   "alltoall",
                                              "barrier",   "exchange"};
static const stretto_dtype dtypes[] = {STRETTO_INT32, STRETTO_INT64, STRETTO_FLOAT32,
                                       STRETTO_FLOAT64};
static const char *const dtype_names[] = {"int32", "int64", "float32", "float64"};
static const stretto_op ops[] = {STRETTO_SUM, STRETTO_MIN, STRETTO_MAX};
static const char *const op_names[] = {"sum", "min", "max"};

enum { DTYPES = 4, OPS = 3, TAG = 7, LARGEST = 1 << 17, LARGE = 1 << 13 };

uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A whole number below 4096: sums of 256 of them are exact also as float32. */
static double value(int member, size_t index, uint64_t number) {
    return (double)(mixed(mixed(number * MOST_RANKS + (uint64_t)member) + index) >> 52);
}

static const char *name_of_dtype(stretto_dtype dtype) {
    int i = 0;
    while (dtypes[i] != dtype)
        ++i;
    return dtype_names[i];
}

static const char *name_of_op(stretto_op op) {
    int i = 0;
    while (ops[i] != op)
        ++i;
    return op_names[i];
}

static size_t element(stretto_dtype dtype) {
    return dtype == STRETTO_INT32 || dtype == STRETTO_FLOAT32 ? 4 : 8;
}

static int in_parts(int kind) {
    return (kind >= REDUCE_SCATTER && kind <= ALLTOALL);
}

struct call call_of(uint64_t seed, uint64_t number, const struct crew *crew) {
    uint64_t random = mixed(seed ^ mixed(number));
    struct call call;
    call.kind = (int)(random % KINDS);
    random = mixed(random);
    call.nonblocking = random & 1;
    call.dtype = dtypes[(random >> 1) % DTYPES];
    call.op = ops[(random >> 8) % OPS];
    call.root = (int)((random >> 16) % (uint64_t)crew->size);
    /* As many of one byte's worth as of a hundred kilobytes: all paths have their turn. */
    random = mixed(random);
    const size_t most = random % 16 == 0 ? LARGEST : LARGE;
    const unsigned bits = (unsigned)(random >> 8) % 18;
    const size_t count = ((size_t)1 << bits) + (size_t)(random >> 32) % ((size_t)1 << bits);
    call.count = count > most ? most : count;
    if (in_parts(call.kind))
        call.count = 1 + call.count / (size_t)crew->size;
    return call;
}

struct call watched_call_of(uint64_t seed, uint64_t number) {
    /* From what is just not watched to twice as much; the first two are not, nor is what the caller
     * does not wait for. */
    static const struct call calls[] = {
        {ALLREDUCE, 0, STRETTO_INT32, STRETTO_SUM, 0, (512 << 8) - 1},
        {ALLREDUCE, 1, STRETTO_FLOAT32, STRETTO_SUM, 0, 512 << 8},
        {ALLREDUCE, 0, STRETTO_FLOAT32, STRETTO_SUM, 0, 512 << 8},
        {ALLREDUCE, 0, STRETTO_INT32, STRETTO_MAX, 0, (512 << 8) + 1},
        {ALLREDUCE, 0, STRETTO_FLOAT64, STRETTO_SUM, 0, 512 << 7},
        {ALLREDUCE, 0, STRETTO_FLOAT32, STRETTO_MIN, 0, 137 * 1009},
        {ALLREDUCE, 0, STRETTO_INT64, STRETTO_SUM, 0, (640 << 7) + 3},
        {ALLREDUCE, 0, STRETTO_FLOAT32, STRETTO_SUM, 0, 1 << 18},
        {REDUCE, 0, STRETTO_FLOAT32, STRETTO_SUM, 0, 1 << 18},
        {REDUCE, 0, STRETTO_INT64, STRETTO_MAX, 2, (512 << 7) + 1},
        {BROADCAST, 0, STRETTO_FLOAT64, STRETTO_SUM, 0, 1 << 17},
        {BROADCAST, 0, STRETTO_INT32, STRETTO_SUM, 1, 137 * 1009},
    };
    enum { CALLS = sizeof(calls) / sizeof(calls[0]), BLOCK = 32 };
    /* What is watched is what repeats: most calls of a block are the same. */
    const uint64_t block = mixed(seed ^ mixed(number / BLOCK)), own = mixed(block + number);
    return calls[(own % 4 != 0 ? block : own >> 8) % CALLS];
}

int is_collective(const struct call *call) {
    return call->kind != EXCHANGE;
}

void describe_call(const struct call *call, char *text, size_t size) {
    const char *const i = call->nonblocking && call->kind != EXCHANGE ? "i" : "";
    if (call->kind == BARRIER)
        snprintf(text, size, "%sbarrier", i);
    else
        snprintf(text, size, "%s%s of %zu %s %s, root %d", i, kind_names[call->kind], call->count,
                 name_of_dtype(call->dtype), name_of_op(call->op), call->root);
}

/* ---- what goes in, what has to come out */

static size_t input_count(const struct crew *crew, const struct call *call) {
    switch (call->kind) {
    case BARRIER: return 0;
    case BROADCAST: return crew->rank == call->root ? call->count : 0;
    case SCATTER: return crew->rank == call->root ? call->count * (size_t)crew->size : 0;
    case REDUCE_SCATTER:
    case ALLTOALL: return call->count * (size_t)crew->size;
    default: return call->count;
    }
}

static size_t output_count(const struct crew *crew, const struct call *call) {
    switch (call->kind) {
    case BARRIER: return 0;
    case REDUCE: return crew->rank == call->root ? call->count : 0;
    case GATHER: return crew->rank == call->root ? call->count * (size_t)crew->size : 0;
    case ALLGATHER:
    case ALLTOALL: return call->count * (size_t)crew->size;
    default: return call->count;
    }
}

static double reduced(const struct crew *crew, stretto_op op, size_t index, uint64_t number) {
    double result = value(crew->members[0], index, number);
    for (int i = 1; i < crew->size; ++i) {
        const double next = value(crew->members[i], index, number);
        if (op == STRETTO_SUM)
            result += next;
        else if (op == STRETTO_MIN ? next < result : next > result)
            result = next;
    }
    return result;
}

static double expected(const struct crew *crew, const struct call *call, uint64_t number,
                       size_t index) {
    const size_t own = (size_t)crew->rank * call->count;
    switch (call->kind) {
    case BROADCAST: return value(crew->members[call->root], index, number);
    case REDUCE_SCATTER: return reduced(crew, call->op, own + index, number);
    case ALLGATHER:
    case GATHER: return value(crew->members[index / call->count], index % call->count, number);
    case SCATTER: return value(crew->members[call->root], own + index, number);
    case ALLTOALL:
        return value(crew->members[index / call->count], own + index % call->count, number);
    case EXCHANGE:
        return value(crew->members[(crew->rank + crew->size - 1) % crew->size], index, number);
    default: return reduced(crew, call->op, index, number);
    }
}

static void put(void *buffer, stretto_dtype dtype, size_t index, double number) {
    switch (dtype) {
    case STRETTO_INT32: ((int32_t *)buffer)[index] = (int32_t)number; break;
    case STRETTO_INT64: ((int64_t *)buffer)[index] = (int64_t)number; break;
    case STRETTO_FLOAT32: ((float *)buffer)[index] = (float)number; break;
    default: ((double *)buffer)[index] = number;
    }
}

static int holds(const void *buffer, stretto_dtype dtype, size_t index, double number) {
    switch (dtype) {
    case STRETTO_INT32: return ((const int32_t *)buffer)[index] == (int32_t)number;
    case STRETTO_INT64: return ((const int64_t *)buffer)[index] == (int64_t)number;
    case STRETTO_FLOAT32: return ((const float *)buffer)[index] == (float)number;
    default: return ((const double *)buffer)[index] == number;
    }
}

/* ---- making the call */

struct buffers {
    void *in, *out;
    size_t in_size, out_size;
};
static struct buffers buffers;

static void *grown(void *buffer, size_t *size, size_t needed) {
    if (needed <= *size)
        return buffer;
    free(buffer);
    *size = needed;
    buffer = malloc(needed);
    if (buffer == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", needed);
        exit(3);
    }
    return buffer;
}

void free_buffers(void) {
    free(buffers.in);
    free(buffers.out);
    memset(&buffers, 0, sizeof(buffers));
}

static stretto_status exchange(const struct crew *crew, const struct call *call) {
    const int next = (crew->rank + 1) % crew->size;
    const int previous = (crew->rank + crew->size - 1) % crew->size;
    stretto_request sent = NULL;
    stretto_status status =
        stretto_isend(crew->comm, buffers.in, call->count, call->dtype, next, TAG, &sent);
    if (status != STRETTO_OK)
        return status;
    const stretto_status received =
        stretto_recv(crew->comm, buffers.out, call->count, call->dtype, previous, TAG, NULL);
    status = stretto_wait(&sent);
    return received != STRETTO_OK ? received : status;
}

static stretto_status blocking(stretto_comm comm, const struct call *call) {
    const void *const in = buffers.in;
    void *const out = buffers.out;
    const size_t count = call->count;
    switch (call->kind) {
    case ALLREDUCE: return stretto_allreduce(comm, in, out, count, call->dtype, call->op);
    case REDUCE: return stretto_reduce(comm, in, out, count, call->dtype, call->op, call->root);
    case BROADCAST: return stretto_broadcast(comm, out, count, call->dtype, call->root);
    case REDUCE_SCATTER: return stretto_reduce_scatter(comm, in, out, count, call->dtype, call->op);
    case ALLGATHER: return stretto_allgather(comm, in, out, count, call->dtype);
    case GATHER: return stretto_gather(comm, in, out, count, call->dtype, call->root);
    case SCATTER: return stretto_scatter(comm, in, out, count, call->dtype, call->root);
    case ALLTOALL: return stretto_alltoall(comm, in, out, count, call->dtype);
    default: return stretto_barrier(comm);
    }
}

static stretto_status nonblocking(stretto_comm comm, const struct call *call, stretto_request *r) {
    const void *const in = buffers.in;
    void *const out = buffers.out;
    const size_t count = call->count;
    switch (call->kind) {
    case ALLREDUCE: return stretto_iallreduce(comm, in, out, count, call->dtype, call->op, r);
    case REDUCE: return stretto_ireduce(comm, in, out, count, call->dtype, call->op, call->root, r);
    case BROADCAST: return stretto_ibroadcast(comm, out, count, call->dtype, call->root, r);
    case REDUCE_SCATTER:
        return stretto_ireduce_scatter(comm, in, out, count, call->dtype, call->op, r);
    case ALLGATHER: return stretto_iallgather(comm, in, out, count, call->dtype, r);
    case GATHER: return stretto_igather(comm, in, out, count, call->dtype, call->root, r);
    case SCATTER: return stretto_iscatter(comm, in, out, count, call->dtype, call->root, r);
    case ALLTOALL: return stretto_ialltoall(comm, in, out, count, call->dtype, r);
    default: return stretto_ibarrier(comm, r);
    }
}

stretto_status make_call(const struct crew *crew, const struct call *call, uint64_t number,
                         size_t *wrong) {
    const size_t inputs = input_count(crew, call), outputs = output_count(crew, call);
    const size_t bytes = element(call->dtype);
    buffers.in = grown(buffers.in, &buffers.in_size, inputs * bytes + 1);
    buffers.out = grown(buffers.out, &buffers.out_size, outputs * bytes + 1);
    const int own = crew->members[crew->rank];
    /* Broadcast has one buffer. */
    memset(buffers.out, 0xa5, outputs * bytes);
    void *const from = call->kind == BROADCAST ? buffers.out : buffers.in;
    for (size_t i = 0; i < inputs; ++i)
        put(from, call->dtype, i, value(own, i, number));

    stretto_status status;
    if (call->kind == EXCHANGE) {
        status = exchange(crew, call);
    } else if (call->nonblocking) {
        stretto_request request = NULL;
        status = nonblocking(crew->comm, call, &request);
        if (status == STRETTO_OK)
            status = stretto_wait(&request);
    } else {
        status = blocking(crew->comm, call);
    }
    *wrong = 0;
    if (status == STRETTO_OK)
        for (size_t i = 0; i < outputs; ++i)
            *wrong += !holds(buffers.out, call->dtype, i, expected(crew, call, number, i));
    return status;
}
