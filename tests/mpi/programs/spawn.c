/* SPDX-License-Identifier: BSD-3-Clause */
/* A job that another one starts: its ranks have an MPI_COMM_WORLD of their own, and what both jobs
 * do together is the library's. */
#include "check.h"

enum { CHILDREN = 2 };

static void together(MPI_Comm between, int high) {
    MPI_Comm merged;
    MPI_Intercomm_merge(between, high, &merged);
    const Ranks all = ranks_of(merged);
    for (int round = 0; round < 3; ++round) {
        const size_t salt = (size_t)round;
        int mine = number(all.rank, salt), sum = -1, told = all.rank == 0 ? mine : -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, merged);
        CHECK(sum == sum_of_numbers(all.size, salt));
        MPI_Bcast(&told, 1, MPI_INT, 0, merged);
        CHECK(told == number(0, salt));
    }
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&between);
}

int main(int argc, char **argv) {
    MPI_Comm between;
    start(&argc, &argv);
    MPI_Comm_get_parent(&between);
    const bool child = between != MPI_COMM_NULL;
    if (!child)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    together(between, child);
    int sum = -1;
    MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == world.size * (world.size - 1) / 2);
    return finish();
}
