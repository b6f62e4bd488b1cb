/* SPDX-License-Identifier: BSD-3-Clause */
/* Even ranks call from Fortran with the module mpi_f08 (mixed.f90), odd ones from C. */
#include "check.h"

void initialise_(void);
void sum_(const int *mine, int *sum);
void sum_later_(const int *mine, int *sum);
void wait_for_all_(void);

static void sum(const int *mine, int *sum) {
    MPI_Allreduce(mine, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void sum_later(const int *mine, int *sum) {
    MPI_Request request;
    MPI_Iallreduce(mine, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(void) {
    initialise_();
    world = ranks_of(MPI_COMM_WORLD);
    const bool even = world.rank % 2 == 0;
    for (int round = 0; round < 20; ++round) {
        const size_t salt = next_salt();
        const int mine = number(world.rank, salt);
        int now = -1, later = -1;
        (even ? sum_ : sum)(&mine, &now);
        (even ? sum_later_ : sum_later)(&mine, &later);
        if (even)
            wait_for_all_();
        else
            MPI_Barrier(MPI_COMM_WORLD);
        CHECK(now == sum_of_numbers(world.size, salt) && later == now);
    }
    return finish();
}
