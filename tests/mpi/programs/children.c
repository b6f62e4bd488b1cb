/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks whose child processes end as usual: what they share with their parent stays the parent's.
 */
#include "check.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int round = 0; round < ROUNDS; ++round) {
        int sum = -1, status = -1;
        MPI_Request request;
        MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (round % 5 == world.rank % 5) {
            const pid_t child = fork();
            if (child == 0)
                execl("/bin/true", "true", (char *)NULL);
            waitpid(child, &status, 0);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            CHECK(system("exit 3") == 3 << 8);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == world.size * (world.size - 1) / 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
