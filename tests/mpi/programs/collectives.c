/* SPDX-License-Identifier: BSD-3-Clause */
/* Every blocking call, with counts that do and do not divide, from and to buffers at any address,
 * in place and not. */
#include "parts.h"

#include <stdlib.h>

enum { TOO_MANY = 20000 };

/* The calls with counts of one width. */
typedef struct Calls {
    int (*allreduce)(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*reduce)(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
    int (*bcast)(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
    int (*allgather)(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                     MPI_Comm);
    int (*reduce_scatter_block)(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*reduce_scatter)(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm);
} Calls;

static int short_allreduce(const void *send, void *recv, MPI_Count n, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm) {
    return MPI_Allreduce(send, recv, (int)n, type, op, comm);
}

static int short_reduce(const void *send, void *recv, MPI_Count n, MPI_Datatype type, MPI_Op op,
                        int root, MPI_Comm comm) {
    return MPI_Reduce(send, recv, (int)n, type, op, root, comm);
}

static int short_bcast(void *buffer, MPI_Count n, MPI_Datatype type, int root, MPI_Comm comm) {
    return MPI_Bcast(buffer, (int)n, type, root, comm);
}

static int short_allgather(const void *send, MPI_Count n, MPI_Datatype send_type, void *recv,
                           MPI_Count m, MPI_Datatype recv_type, MPI_Comm comm) {
    return MPI_Allgather(send, (int)n, send_type, recv, (int)m, recv_type, comm);
}

static int short_reduce_scatter_block(const void *send, void *recv, MPI_Count n, MPI_Datatype type,
                                      MPI_Op op, MPI_Comm comm) {
    return MPI_Reduce_scatter_block(send, recv, (int)n, type, op, comm);
}

static int short_reduce_scatter(const void *send, void *recv, const MPI_Count *shares,
                                MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const Ranks of = ranks_of(comm);
    int *const counts = malloc((size_t)of.size * sizeof *counts);
    for (int rank = 0; rank < of.size; ++rank)
        counts[rank] = (int)shares[rank];
    const int code = MPI_Reduce_scatter(send, recv, counts, type, op, comm);
    free(counts);
    return code;
}

static const Calls short_counts = {
    short_allreduce,     short_reduce, short_bcast, short_allgather, short_reduce_scatter_block,
    short_reduce_scatter};

static void allreduce(const Ranks *of, const Calls *calls, size_t n, size_t shift) {
    const size_t salt = next_salt();
    char *const send = guarded(n * sizeof(int), shift), *const recv = guarded(n * sizeof(int), 0);
    fill(send, n, of->rank, salt);
    calls->allreduce(send, recv, (MPI_Count)n, MPI_INT, MPI_SUM, of->comm);
    check_sums(recv, n, of->size, salt);
    check_filled(send, n, of->rank, salt);
    calls->allreduce(MPI_IN_PLACE, send, (MPI_Count)n, MPI_INT, MPI_MAX, of->comm);
    check_filled(send, n, of->size - 1, salt);
    unguard(send);
    unguard(recv);
}

static void reduce(const Ranks *of, const Calls *calls, size_t n, size_t shift, int root) {
    const size_t salt = next_salt();
    char *const send = guarded(n * sizeof(int), shift), *const recv = guarded(n * sizeof(int), 0);
    const bool is_root = of->rank == root;
    fill(send, n, of->rank, salt);
    calls->reduce(send, is_root ? recv : NULL, (MPI_Count)n, MPI_INT, MPI_SUM, root, of->comm);
    if (is_root)
        check_sums(recv, n, of->size, salt);
    calls->reduce(is_root ? MPI_IN_PLACE : send, is_root ? send : NULL, (MPI_Count)n, MPI_INT,
                  MPI_MIN, root, of->comm);
    check_filled(send, n, is_root ? 0 : of->rank, salt);
    unguard(send);
    unguard(recv);
}

static void bcast(const Ranks *of, const Calls *calls, size_t n, size_t shift, int root) {
    const size_t salt = next_salt();
    char *const buffer = guarded(n * sizeof(int), shift);
    if (of->rank == root)
        fill(buffer, n, root, salt);
    calls->bcast(buffer, (MPI_Count)n, MPI_INT, root, of->comm);
    check_filled(buffer, n, root, salt);
    unguard(buffer);
}

static void allgather(const Ranks *of, const Calls *calls, size_t n, size_t shift) {
    const size_t salt = next_salt(), ranks = (size_t)of->size;
    char *const send = guarded(n * sizeof(int), shift);
    char *const recv = guarded(ranks * n * sizeof(int), shift);
    fill(send, n, of->rank, salt);
    calls->allgather(send, (MPI_Count)n, MPI_INT, recv, (MPI_Count)n, MPI_INT, of->comm);
    for (size_t rank = 0; rank < ranks; ++rank)
        check_filled(recv + rank * n * sizeof(int), n, (int)rank, salt);
    poison(recv);
    fill(recv + (size_t)of->rank * n * sizeof(int), n, of->rank, salt + 1);
    calls->allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, (MPI_Count)n, MPI_INT, of->comm);
    for (size_t rank = 0; rank < ranks; ++rank)
        check_filled(recv + rank * n * sizeof(int), n, (int)rank, salt + 1);
    unguard(send);
    unguard(recv);
}

static void reduce_scatter_block(const Ranks *of, const Calls *calls, size_t n, size_t shift) {
    const size_t salt = next_salt(), all = n * (size_t)of->size, mine = n * (size_t)of->rank;
    char *const send = guarded(all * sizeof(int), shift), *const recv = guarded(n * sizeof(int), 0);
    fill(send, all, of->rank, salt);
    calls->reduce_scatter_block(send, recv, (MPI_Count)n, MPI_INT, MPI_SUM, of->comm);
    check_sums(recv, n, of->size, salt + mine);
    check_filled(send, all, of->rank, salt);
    calls->reduce_scatter_block(MPI_IN_PLACE, send, (MPI_Count)n, MPI_INT, MPI_MAX, of->comm);
    check_filled(send, n, of->size - 1, salt + mine);
    unguard(send);
    unguard(recv);
}

/* Rank r gets n + r elements, every third rank none. */
static void reduce_scatter(const Ranks *of, const Calls *calls, size_t n, size_t shift) {
    const size_t salt = next_salt();
    MPI_Count *const shares = malloc((size_t)of->size * sizeof *shares);
    size_t all = 0, before = 0;
    for (int rank = 0; rank < of->size; ++rank) {
        shares[rank] = rank % 3 == 2 ? 0 : (MPI_Count)n + rank;
        before += rank < of->rank ? (size_t)shares[rank] : 0;
        all += (size_t)shares[rank];
    }
    const size_t mine = (size_t)shares[of->rank];
    char *const send = guarded(all * sizeof(int), shift);
    char *const recv = guarded(mine * sizeof(int), 0);
    fill(send, all, of->rank, salt);
    calls->reduce_scatter(send, recv, shares, MPI_INT, MPI_SUM, of->comm);
    check_sums(recv, mine, of->size, salt + before);
    check_filled(send, all, of->rank, salt);
    if (n < TOO_MANY) { /* for MPICH 5, which may copy a result onto itself */
        calls->reduce_scatter(MPI_IN_PLACE, send, shares, MPI_INT, MPI_MAX, of->comm);
        check_filled(send, mine, of->size - 1, salt + before);
    }
    free(shares);
    unguard(send);
    unguard(recv);
}

static void all_of_them(const Ranks *of, const Calls *calls, size_t n, size_t shift) {
    allreduce(of, calls, n, shift);
    allgather(of, calls, n, shift);
    reduce_scatter_block(of, calls, n, shift);
    reduce_scatter(of, calls, n, shift);
    for (int root = 0; root < of->size; ++root) {
        reduce(of, calls, n, shift, root);
        bcast(of, calls, n, shift, root);
    }
}

void collectives(const Ranks *of) {
    const size_t ranks = (size_t)of->size;
    const size_t counts[] = {0, 1, ranks - 1, ranks + 1, 7, 97, 1009, 4999};
    const size_t n = sizeof counts / sizeof counts[0];
    for (size_t i = 0; i < n; ++i)
        all_of_them(of, &short_counts, counts[i], i % 2 == 0 ? 0 : i);
#ifdef HAS_LARGE_COUNTS
    const Calls large_counts = {
        MPI_Allreduce_c,     MPI_Reduce_c, MPI_Bcast_c, MPI_Allgather_c, MPI_Reduce_scatter_block_c,
        MPI_Reduce_scatter_c};
    for (size_t i = 1; i < n; i += 2)
        all_of_them(of, &large_counts, counts[i], 0);
#endif
    const size_t many = 100003, many_each = 20011;
    allreduce(of, &short_counts, many, 0);
    reduce(of, &short_counts, many, 3, of->size - 1);
    bcast(of, &short_counts, many, 0, of->size / 2);
    allgather(of, &short_counts, many_each, 4);
    reduce_scatter_block(of, &short_counts, many_each, 1);
    reduce_scatter(of, &short_counts, many_each, 0);
}
