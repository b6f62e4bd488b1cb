/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of all kinds, and calls that are none of MPI's: the library's, or Stretto's. */
#include "check.h"

static void alone(void) {
    int mine = number(world.rank, 5), got = -1, two[2] = {mine, mine + 1}, one = 1;
    const Ranks self = ranks_of(MPI_COMM_SELF);
    MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, self.comm);
    CHECK(got == mine);
    got = -1;
    MPI_Reduce(&mine, &got, 1, MPI_INT, MPI_MAX, 0, self.comm);
    CHECK(got == mine);
    got = -1;
    MPI_Allgather(&mine, 1, MPI_INT, &got, 1, MPI_INT, self.comm);
    CHECK(got == mine);
    MPI_Bcast(two, 2, MPI_INT, 0, self.comm);
    MPI_Reduce_scatter(MPI_IN_PLACE, two, &one, MPI_INT, MPI_SUM, self.comm);
    CHECK(two[0] == mine && two[1] == mine + 1);
    MPI_Barrier(self.comm);
}

/* What a group gets is made of what the other group has. */
static void between_groups(void) {
    const int side = world.rank % 2;
    MPI_Comm half, between, merged;
    MPI_Comm_split(MPI_COMM_WORLD, side, world.rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &between);
    int others = 0, of_others = 0, sum = -1, all[8], told = -1;
    for (int rank = 1 - side; rank < world.size; rank += 2) {
        of_others += rank;
        ++others;
    }
    MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, between);
    CHECK(sum == of_others);
    MPI_Allgather(&world.rank, 1, MPI_INT, all, 1, MPI_INT, between);
    for (int i = 0; i < others; ++i)
        CHECK(all[i] == 2 * i + 1 - side);
    if (world.rank == 0)
        told = 4711;
    const int root = side == 1 ? 0 : world.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&told, 1, MPI_INT, root, between);
    CHECK(told == (side == 1 || world.rank == 0 ? 4711 : -1));
    MPI_Barrier(between);
    MPI_Intercomm_merge(between, side, &merged);
    sum = -1;
    MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK(sum == world.size * (world.size - 1) / 2);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

/* The first ranks make communicators of which the last knows nothing. */
static void of_some(void) {
    MPI_Group all, some;
    MPI_Comm comm, made;
    const int last = world.size - 1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, &last, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
    CHECK((comm == MPI_COMM_NULL) == (world.rank == last));
    if (world.rank != last) {
        for (int i = 0; i < 3; ++i) {
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 20 + i, &made);
            int sum = -1;
            MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, made);
            CHECK(sum == last * (last - 1) / 2);
            MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_MAX, comm);
            CHECK(sum == last - 1);
            MPI_Comm_free(&made);
        }
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

/* A duplicate, of one that has been used, is another one: what is under way on both stays apart. */
static void duplicates(void) {
    MPI_Comm made[4];
    MPI_Request requests[4];
    int sums[4];
    MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
    for (int i = 0; i < 4; ++i) {
        if (i > 0)
            MPI_Comm_dup(made[i - 1], &made[i]);
        MPI_Barrier(made[i]);
    }
    for (int i = 0; i < 4; ++i) { /* other ranks, other orders */
        const int k = world.rank % 2 == 0 ? i : 3 - i;
        sums[k] = -1;
        MPI_Iallreduce(&world.rank, &sums[k], 1, MPI_INT, k % 2 == 0 ? MPI_SUM : MPI_MAX, made[k],
                       &requests[k]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 4; ++k) {
        CHECK(sums[k] == (k % 2 == 0 ? world.size * (world.size - 1) / 2 : world.size - 1));
        MPI_Comm_free(&made[k]);
    }
}

static void in_a_row(void) {
    const int sizes[] = {world.size}, periodic[] = {1};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periodic, 1, &ring);
    const Ranks of = ranks_of(ring);
    int mine = number(of.rank, 9), all[8];
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, ring);
    for (int rank = 0; rank < of.size; ++rank)
        CHECK(all[rank] == number(rank, 9));
    MPI_Comm_free(&ring);
}

/* One that is made while other calls run, of one that Stretto serves. */
static void made_later(void) {
    MPI_Comm comm;
    MPI_Request requests[2];
    int sum = -1;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &requests[0]);
    MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == world.size * (world.size - 1) / 2);
    sum = -1;
    MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_MAX, comm);
    CHECK(sum == world.size - 1);
    MPI_Comm_free(&comm);
}

static int class_of(int code) {
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* The library says what is wrong with them, and the communicator is as good as before. */
static void wrong_arguments(void) {
    MPI_Comm comm;
    int mine = world.rank, got = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
#ifdef OPEN_MPI /* MPICH's own reductions read before they look */
    CHECK(class_of(MPI_Allreduce(&mine, &got, -1, MPI_INT, MPI_SUM, comm)) == MPI_ERR_COUNT);
#endif
    int code = MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_OP_NULL, comm);
    CHECK(class_of(code) == MPI_ERR_OP);
    code = MPI_Bcast(&mine, 1, MPI_INT, world.size, comm);
    CHECK(class_of(code) == MPI_ERR_ROOT);
    code = MPI_Reduce(&mine, &got, 1, MPI_INT, MPI_SUM, -5, comm);
    CHECK(class_of(code) == MPI_ERR_ROOT);
    CHECK(mine == world.rank && got == -1);
    CHECK(MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(got == world.size * (world.size - 1) / 2);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    alone();
    between_groups();
    of_some();
    duplicates();
    in_a_row();
    made_later();
    wrong_arguments();
    return finish();
}
