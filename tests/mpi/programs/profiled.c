/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten allreduces and ten that do not block, which a tool may count (tool.c). */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 10 };

int main(int argc, char **argv) {
    int rank = 0, size = 0, good = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < CALLS; ++call) {
        const int mine = (rank + 1) * (call + 1), right = size * (size + 1) / 2 * (call + 1);
        int sum = -1, later = -1;
        MPI_Request request;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Iallreduce(&mine, &later, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        good += (sum == right) + (later == right);
    }
    printf("rank %d: %d right\n", rank, good);
    fflush(stdout);
    MPI_Finalize();
    return good != 2 * CALLS;
}
