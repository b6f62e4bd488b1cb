/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call by one of its two names, MPI_ or PMPI_, and never by the same on all ranks: tools that
 * a rank alone has do so, and Fortran beside C.  Whatever the name, ranks agree on what serves, and
 * requests end. */
#include "check.h"

#include <stdlib.h>

enum { ROUNDS = 40, MOST = 6 };

static int calls;

/* Alternates from call to call, and between neighbours. */
static bool by_other_name(void) {
    return (++calls + world.rank) % 2 == 0;
}
#define EITHER(name) (by_other_name() ? PMPI_##name : MPI_##name)

static void collectives(const Ranks *of) {
    const int one_each[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const size_t salt = next_salt(), place = salt + (size_t)of->rank;
    int mine[8], sum = -1, whole = -1, all[8], share = -1, shared = -1;
    int told = of->rank == 0 ? number(0, salt) : -1;
    fill(mine, 8, of->rank, salt);
    EITHER(Allreduce)(mine, &sum, 1, MPI_INT, MPI_SUM, of->comm);
    EITHER(Reduce)(mine, &whole, 1, MPI_INT, MPI_SUM, 0, of->comm);
    EITHER(Bcast)(&told, 1, MPI_INT, 0, of->comm);
    EITHER(Allgather)(mine, 1, MPI_INT, all, 1, MPI_INT, of->comm);
    EITHER(Reduce_scatter_block)(mine, &share, 1, MPI_INT, MPI_SUM, of->comm);
    EITHER(Reduce_scatter)(mine, &shared, one_each, MPI_INT, MPI_SUM, of->comm);
    EITHER(Barrier)(of->comm);
    CHECK(sum == sum_of_numbers(of->size, salt) && (of->rank != 0 || whole == sum));
    CHECK(told == number(0, salt));
    CHECK(share == sum_of_numbers(of->size, place) && shared == share);
    for (int rank = 0; rank < of->size; ++rank)
        CHECK(all[rank] == number(rank, salt));
}

/* All of them, by the `way`th function that waits or tests; false: there are no more. */
static bool complete(int way, int n, MPI_Request *requests) {
    MPI_Status statuses[MOST];
    int indices[MOST], index = -1, flag = 0, left = n, ended = 0;
    switch (way) {
    case 0:
        for (int i = 0; i < n; ++i)
            EITHER(Wait)(&requests[i], MPI_STATUS_IGNORE);
        return true;
    case 1: EITHER(Waitall)(n, requests, statuses); return true;
    case 2:
        for (; left > 0; --left) {
            EITHER(Waitany)(n, requests, &index, MPI_STATUS_IGNORE);
            CHECK(index >= 0 && index < n);
        }
        return true;
    case 3:
        for (; left > 0; left -= ended)
            EITHER(Waitsome)(n, requests, &ended, indices, statuses);
        return true;
    case 4:
        for (int i = 0; i < n; ++i)
            for (flag = 0; flag == 0;)
                EITHER(Test)(&requests[i], &flag, MPI_STATUS_IGNORE);
        return true;
    case 5:
        while (flag == 0)
            EITHER(Testall)(n, requests, &flag, statuses);
        return true;
    case 6:
        for (; left > 0; left -= flag)
            EITHER(Testany)(n, requests, &index, &flag, MPI_STATUS_IGNORE);
        return true;
    case 7:
        for (; left > 0; left -= ended)
            EITHER(Testsome)(n, requests, &ended, indices, statuses);
        return true;
    case 8:
        for (int i = 0; i < n; ++i)
            for (flag = 0; flag == 0;)
                EITHER(Request_get_status)(requests[i], &flag, MPI_STATUS_IGNORE);
        EITHER(Waitall)(n, requests, statuses);
        return true;
    default: return false;
    }
}

static void nonblocking(const Ranks *of) {
    const int n = MOST;
    for (int way = 0;; ++way) {
        const size_t salt = next_salt();
        MPI_Request requests[MOST];
        int mine[MOST], sums[MOST];
        fill(mine, (size_t)n, of->rank, salt);
        memset(sums, -1, sizeof sums);
        for (int i = 0; i < n; ++i)
            EITHER(Iallreduce)(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, of->comm, &requests[i]);
        const bool known = complete(way, n, requests);
        if (!known)
            MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; ++i)
            CHECK(requests[i] == MPI_REQUEST_NULL);
        check_sums(sums, (size_t)n, of->size, salt);
        if (!known)
            return;
    }
}

static void persistent(const Ranks *of) {
#ifdef HAS_PERSISTENT
    int mine, sum;
    MPI_Request request;
    EITHER(Allreduce_init)(&mine, &sum, 1, MPI_INT, MPI_SUM, of->comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; ++round) {
        const size_t salt = next_salt();
        mine = number(of->rank, salt);
        sum = -1;
        if (round == 1)
            EITHER(Startall)(1, &request);
        else
            EITHER(Start)(&request);
        EITHER(Wait)(&request, MPI_STATUS_IGNORE);
        CHECK(sum == sum_of_numbers(of->size, salt));
    }
    EITHER(Request_free)(&request);
#else
    (void)of;
#endif
}

int main(int argc, char **argv) {
    PMPI_Init(&argc, &argv);
    world = ranks_of(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; ++round)
        collectives(&world);
    nonblocking(&world);
    persistent(&world);
    return finish();
}
