/* SPDX-License-Identifier: BSD-3-Clause */
/* What Stretto serves, in all its forms: on MPI_COMM_WORLD, then on communicators that the program
 * makes, whose first calls may be the library's and later ones Stretto's. */
#include "parts.h"

static void in_halves(void (*part)(const Ranks *)) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, world.rank, &comm);
    const Ranks half = ranks_of(comm);
    if (part != types && part != operations) /* long ones */
        part(&half);
    MPI_Comm_free(&comm);
}

static void backwards(void (*part)(const Ranks *)) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, &comm);
    const Ranks reversed = ranks_of(comm);
    CHECK(reversed.rank == world.size - 1 - world.rank);
    part(&reversed);
    MPI_Comm_free(&comm);
}

/* All of them, or those that are named. */
int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(const Ranks *);
    } parts[] = {{"collectives", collectives}, {"barriers", barriers},     {"types", types},
                 {"layouts", layouts},         {"operations", operations}, {"requests", requests},
                 {"persistent", persistent}};
    start(&argc, &argv);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; ++k)
            wanted = wanted || strcmp(argv[k], parts[i].name) == 0;
        if (!wanted)
            continue;
        begin_salts(1000 * i); /* what two halves do may differ */
        parts[i].run(&world);
        backwards(parts[i].run);
        in_halves(parts[i].run);
    }
    return finish();
}
