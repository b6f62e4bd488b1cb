/* SPDX-License-Identifier: BSD-3-Clause */
#include "contest.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void check(stretto_status status) {
    if (status == STRETTO_OK)
        return;
    fprintf(stderr, "stretto: %s: %s\n", stretto_status_name(status), stretto_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rank r contributes (r + 1) * h(i) at index i, with h a hash below 256: the sum over all ranks is
 * h(i) * size * (size + 1) / 2, exact in a float for up to 256 ranks, also where elements are
 * int32; a block that is misplaced, missing or counted twice shows. */
static float hashed(size_t i) {
    return (float)(((uint32_t)i * 2654435761u) >> 24);
}

static float summed(const Ranks *ranks, size_t i) {
    return (float)(ranks->size * (ranks->size + 1) / 2) * hashed(i);
}

/* ---- where results lie */

static size_t everywhere(const Ranks *ranks, size_t count) {
    (void)ranks;
    return count;
}
static size_t at_root(const Ranks *ranks, size_t count) {
    return ranks->rank == 0 ? count : 0;
}
static size_t part(const Ranks *ranks, size_t count) {
    return count / (size_t)ranks->size;
}

/* ---- what they are */

static float sum(const Ranks *ranks, size_t count, size_t i) {
    (void)count;
    return summed(ranks, i);
}
static float own_sum(const Ranks *ranks, size_t count, size_t i) {
    return summed(ranks, (size_t)ranks->rank * part(ranks, count) + i);
}
static float of_root(const Ranks *ranks, size_t count, size_t i) {
    (void)ranks;
    (void)count;
    return hashed(i);
}
static float of_all(const Ranks *ranks, size_t count, size_t i) {
    const size_t each = part(ranks, count);
    return (float)(i / each + 1) * hashed(i % each);
}

/* ---- the calls */

static void mpi_allreduce(const Ranks *r, size_t count) {
    MPI_Allreduce(r->send, r->recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void mpi_allreduce_int32(const Ranks *r, size_t count) {
    MPI_Allreduce(r->send, r->recv, (int)count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
}
static void mpi_reduce(const Ranks *r, size_t count) {
    MPI_Reduce(r->send, r->recv, (int)count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void mpi_broadcast(const Ranks *r, size_t count) {
    MPI_Bcast(r->recv, (int)count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}
static void mpi_reduce_scatter(const Ranks *r, size_t count) {
    MPI_Reduce_scatter_block(r->send, r->recv, (int)part(r, count), MPI_FLOAT, MPI_SUM,
                             MPI_COMM_WORLD);
}
static void mpi_allgather(const Ranks *r, size_t count) {
    const int each = (int)part(r, count);
    MPI_Allgather(r->send, each, MPI_FLOAT, r->recv, each, MPI_FLOAT, MPI_COMM_WORLD);
}

static void our_allreduce(const Ranks *r, const float *send, float *recv, size_t count) {
    check(stretto_allreduce(r->comm, send, recv, count, STRETTO_FLOAT32, STRETTO_SUM));
}
static void our_allreduce_int32(const Ranks *r, const float *send, float *recv, size_t count) {
    check(stretto_allreduce(r->comm, send, recv, count, STRETTO_INT32, STRETTO_SUM));
}
static void our_reduce(const Ranks *r, const float *send, float *recv, size_t count) {
    check(stretto_reduce(r->comm, send, recv, count, STRETTO_FLOAT32, STRETTO_SUM, 0));
}
static void our_broadcast(const Ranks *r, const float *send, float *recv, size_t count) {
    (void)send;
    check(stretto_broadcast(r->comm, recv, count, STRETTO_FLOAT32, 0));
}
static void our_reduce_scatter(const Ranks *r, const float *send, float *recv, size_t count) {
    check(
        stretto_reduce_scatter(r->comm, send, recv, part(r, count), STRETTO_FLOAT32, STRETTO_SUM));
}
static void our_allgather(const Ranks *r, const float *send, float *recv, size_t count) {
    check(stretto_allgather(r->comm, send, recv, part(r, count), STRETTO_FLOAT32));
}

static const Contest CONTESTS[] = {
    {"allreduce", 0, 0, mpi_allreduce, our_allreduce, everywhere, sum},
    {"allreduce_int32", 0, 1, mpi_allreduce_int32, our_allreduce_int32, everywhere, sum},
    {"reduce", 0, 0, mpi_reduce, our_reduce, at_root, sum},
    {"broadcast", 0, 0, mpi_broadcast, our_broadcast, everywhere, of_root},
    {"reduce_scatter", 1, 0, mpi_reduce_scatter, our_reduce_scatter, part, own_sum},
    {"allgather", 1, 0, mpi_allgather, our_allgather, everywhere, of_all},
};
enum { N_CONTESTS = sizeof(CONTESTS) / sizeof(CONTESTS[0]) };

const Contest *contest_named(const char *name) {
    for (int i = 0; i < N_CONTESTS; i++)
        if (strcmp(CONTESTS[i].name, name) == 0)
            return &CONTESTS[i];
    return NULL;
}

const char *contest_names(void) {
    static char names[128];
    if (names[0] == '\0')
        for (int i = 0; i < N_CONTESTS; i++) {
            if (i > 0)
                strcat(names, ", ");
            strcat(names, CONTESTS[i].name);
        }
    return names;
}

static float *results(const Ranks *ranks, int contestant) {
    return contestant == SHARED ? ranks->shared_recv : ranks->recv;
}

/* An int32 lies where a float would. */
static void put(float *element, int whole, float value) {
    const int32_t number = (int32_t)value;
    memcpy(element, whole ? (const void *)&number : (const void *)&value, sizeof(*element));
}

static float got(const float *element, int whole) {
    int32_t number;
    memcpy(&number, element, sizeof(number));
    return whole ? (float)number : *element;
}

void contest_fill(const Contest *contest, const Ranks *ranks, size_t count) {
    for (size_t i = 0; i < count; i++)
        put(&ranks->send[i], contest->whole, (float)(ranks->rank + 1) * hashed(i));
    if (ranks->shared_send != NULL)
        memcpy(ranks->shared_send, ranks->send, count * sizeof(float));
}

void contest_poison(const Contest *contest, const Ranks *ranks, int contestant, size_t count) {
    if (contest->expected == of_root && ranks->rank == 0) /* its buffer is what it gives */
        memcpy(results(ranks, contestant), ranks->send, count * sizeof(float));
    else
        memset(results(ranks, contestant), 0xff, count * sizeof(float)); /* NaN, -1 */
}

void contest_call(const Contest *contest, const Ranks *ranks, int contestant, size_t count) {
    switch (contestant) {
    case PEER: contest->peer(ranks, count); break;
    case STRETTO: contest->stretto(ranks, ranks->send, ranks->recv, count); break;
    case SHARED: contest->stretto(ranks, ranks->shared_send, ranks->shared_recv, count); break;
    default: memcpy(ranks->recv, ranks->send, count * sizeof(float));
    }
}

double contest_wrong(const Contest *contest, const Ranks *ranks, int contestant, size_t count) {
    const float *result = results(ranks, contestant);
    size_t wrong = 0;
    if (contestant == MEMCPY)
        return memcmp(result, ranks->send, count * sizeof(float)) != 0;
    const size_t elements = contest->result(ranks, count);
    for (size_t i = 0; i < elements; i++)
        wrong += got(&result[i], contest->whole) != contest->expected(ranks, count, i);
    return (double)wrong;
}
