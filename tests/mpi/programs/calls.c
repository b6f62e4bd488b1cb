/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank makes 64 calls of each kind on MPI_COMM_WORLD, for the report to count. */
#include "check.h"

enum { CALLS = 64 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    const Ranks *const of = &world;
    const int one_each[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (int call = 0; call < CALLS; ++call) {
        const size_t salt = next_salt();
        int mine[8], sum = -1, whole = -1, all[8], share = -1, shared = -1, later = -1;
        int told = of->rank == 0 ? number(0, salt) : -1;
        fill(mine, 8, of->rank, salt);
        MPI_Request request;
        MPI_Iallreduce(mine, &later, 1, MPI_INT, MPI_MIN, of->comm, &request);
        MPI_Allreduce(mine, &sum, 1, MPI_INT, MPI_SUM, of->comm);
        MPI_Reduce(mine, &whole, 1, MPI_INT, MPI_SUM, 0, of->comm);
        MPI_Bcast(&told, 1, MPI_INT, 0, of->comm);
        MPI_Allgather(mine, 1, MPI_INT, all, 1, MPI_INT, of->comm);
        MPI_Reduce_scatter_block(mine, &share, 1, MPI_INT, MPI_SUM, of->comm);
        MPI_Reduce_scatter(mine, &shared, one_each, MPI_INT, MPI_SUM, of->comm);
        MPI_Barrier(of->comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef HAS_PERSISTENT
        int again = -1;
        MPI_Allreduce_init(mine, &again, 1, MPI_INT, MPI_SUM, of->comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(again == sum);
        MPI_Request_free(&request);
#endif
        const size_t place = salt + (size_t)of->rank;
        CHECK(sum == sum_of_numbers(of->size, salt) && (of->rank != 0 || whole == sum));
        CHECK(told == number(0, salt) && later == number(0, salt));
        CHECK(share == sum_of_numbers(of->size, place) && shared == share);
        for (int rank = 0; rank < of->size; ++rank)
            CHECK(all[rank] == number(rank, salt));
    }
    return finish();
}
