/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators come and go, and nothing of them stays. */
#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum { WARM = 60 }; /* rounds until the library has made what it keeps */

static int open_files(void) {
    int n = 0;
    DIR *const folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        ++n;
    closedir(folder);
    return n;
}

static int mappings(void) {
    int n = 0, c;
    FILE *const file = fopen("/proc/self/maps", "r");
    while ((c = getc(file)) != EOF)
        n += c == '\n';
    fclose(file);
    return n;
}

static long memory_in_kib(void) {
    long all = 0, resident = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A new one each time, of all ranks or of a part, used in all ways and ended in both. */
static void one_round(int round) {
    MPI_Comm comm;
    if (round % 3 == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        MPI_Comm_split(MPI_COMM_WORLD, (world.rank + round) % 2, -world.rank, &comm);
    const Ranks of = ranks_of(comm);
    int sum = -1, told = of.rank == 0 ? round : -1;
    MPI_Allreduce(&of.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == of.size * (of.size - 1) / 2);
    MPI_Bcast(&told, 1, MPI_INT, 0, comm);
    CHECK(told == round);
    for (int i = 0; round % 5 == 0 && i < 2; ++i) { /* Stretto's from the second one on */
        MPI_Request request;
        int later = -1;
        MPI_Iallreduce(&of.rank, &later, 1, MPI_INT, MPI_MAX, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(later == of.size - 1);
        MPI_Barrier(comm);
    }
    if (round % 2 == 0)
        MPI_Comm_free(&comm);
    else
        MPI_Comm_disconnect(&comm);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 300;
    int files = 0, maps = 0;
    long memory = 0;
    for (int round = 0; round < rounds; ++round) {
        if (round == WARM) {
            files = open_files();
            maps = mappings();
            memory = memory_in_kib();
        }
        one_round(round);
    }
    printf("rank %d: %d open files and %d, %d mappings and %d, %ld KiB and %ld\n", world.rank,
           files, open_files() - files, maps, mappings() - maps, memory, memory_in_kib() - memory);
    CHECK(open_files() == files);
    CHECK(mappings() <= maps + 20);
    CHECK(memory_in_kib() <= memory + 8 * 1024);
    return finish();
}
