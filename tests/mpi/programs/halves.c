/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank without Stretto would see of the others' if they told it of Stretto: a message that
 * nobody has sent, or bytes of a collective that are no rank's. */
#include "check.h"

enum { LOOKS = 2000, BYTES = 64 };

static void collective(int bytes) {
    char mine[BYTES], all[8 * BYTES];
    memset(mine, 'a' + world.rank, sizeof mine);
    memset(all, 0, sizeof all);
    MPI_Allgather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < world.size * bytes; ++i)
        CHECK(all[i] == 'a' + i / bytes);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int look = 0; look < LOOKS; ++look) {
        int any = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
        if (any != 0) {
            CHECK(!"a message");
            break;
        }
    }
    for (int bytes = 1; bytes <= BYTES; ++bytes)
        collective(bytes);
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
