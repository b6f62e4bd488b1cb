/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs and their libraries do while MPI_Finalize runs: attributes of MPI_COMM_SELF are
 * deleted first, once each, and their functions may still communicate (MPI 4.0, 11.2.4). */
#include "check.h"

static MPI_Comm left;

static int sum_over(MPI_Comm comm) {
    int sum = -1;
    MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static int clean_up(MPI_Comm comm, int keyval, void *value, void *state) {
    (void)comm;
    (void)keyval;
    (void)state;
    const int expected = world.size * (world.size - 1) / 2;
    const bool right = sum_over(MPI_COMM_WORLD) == expected && sum_over(left) == expected;
    MPI_Barrier(left);
    MPI_Comm_free(&left);
    printf("rank %d: %s, cleaned up %s\n", world.rank, (const char *)value,
           right ? "well" : "wrongly");
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    static char name[] = "attribute";
    int keyval;
    start(&argc, &argv);
    /* Whoever duplicates MPI_COMM_SELF takes the attribute along. */
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, clean_up, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, name);
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    for (int i = 0; i < 10; ++i) {
        int sum = -1;
        MPI_Request request;
        MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, left, &request);
        CHECK(sum_over(left) == world.size * (world.size - 1) / 2);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == world.size * (world.size - 1) / 2);
    }
    return finish();
}
