/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduces on MPI_COMM_WORLD, and on communicators of all ranks but the last. */
#include "check.h"

static void sum(MPI_Comm comm) {
    const Ranks of = ranks_of(comm);
    for (int call = 0; call < 10; ++call) {
        const size_t salt = next_salt();
        int mine[100], sums[100];
        fill(mine, 100, of.rank, salt);
        memset(sums, 0, sizeof sums);
        MPI_Allreduce(mine, sums, 100, MPI_INT, MPI_SUM, comm);
        check_sums(sums, 100, of.size, salt);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    sum(MPI_COMM_WORLD);
    for (int i = 0; i < 2; ++i) {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, world.rank == world.size - 1 ? MPI_UNDEFINED : 0, 0, &some);
        if (some == MPI_COMM_NULL)
            continue;
        sum(some);
        MPI_Comm_free(&some);
    }
    return finish();
}
