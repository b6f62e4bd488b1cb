/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong in a call that Stretto serves.  The first argument says what:
 *   return     ranks disagree about a count; the code comes back, and the program goes on
 *   later      the same of a nonblocking call
 *   handler    the same; the program's own error handler is called
 *   fatal      the same, as programs are by default
 *   killed     a rank is killed while the others wait for it
 *   survivors  the same where the launcher lets the others live: the code comes back
 *   abort      a rank calls MPI_Abort while the others wait for it
 *   short      a rank sends one element of an allgather and receives ten of each */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 7 };

static int handled; /* calls of the program's error handler */

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    handled += *code != MPI_SUCCESS;
}

/* Rank 1 has fewer elements than the others. */
static int disagree(MPI_Comm comm, bool later) {
    int mine[MOST] = {0}, sums[MOST];
    const int n = world.rank == 1 ? MOST - 2 : MOST;
    MPI_Request request;
    if (!later)
        return MPI_Allreduce(mine, sums, n, MPI_INT, MPI_SUM, comm);
    const int code = MPI_Iallreduce(mine, sums, n, MPI_INT, MPI_SUM, comm, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void tell(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, class = MPI_SUCCESS;
    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &class);
    printf("rank %d: code %s, %s: %s\n", world.rank, code == MPI_SUCCESS ? "none" : "some",
           class == MPI_SUCCESS ? "no class" : "a class", text);
    fflush(stdout);
}

static void sum_of_all(MPI_Comm comm) {
    int sum = -1;
    CHECK(MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == world.size * (world.size - 1) / 2);
}

/* A failure is the communicator's alone: others go on. */
static int survive(bool later, bool has_handler) {
    MPI_Comm comm, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    if (has_handler)
        MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    if (later) { /* the call that makes what a nonblocking one needs */
        MPI_Request request;
        int sum = -1;
        MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum_of_all(comm);
    }
    const int code = disagree(comm, later);
    tell(code);
    CHECK(code != MPI_SUCCESS);
    CHECK(handled == (has_handler ? 1 : 0));
    int sum = -1;
    CHECK(MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS);
    sum_of_all(other);
    sum_of_all(MPI_COMM_WORLD);
    if (has_handler)
        MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    return finish();
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *const what = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 10; ++i)
        sum_of_all(MPI_COMM_WORLD);
    if (strcmp(what, "return") == 0)
        return survive(false, false);
    if (strcmp(what, "later") == 0)
        return survive(true, false);
    if (strcmp(what, "handler") == 0)
        return survive(false, true);
    if (strcmp(what, "short") == 0) {
        int mine[10] = {0}, all[80];
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        tell(MPI_Allgather(mine, world.rank == 1 ? 1 : 10, MPI_INT, all, 10, MPI_INT,
                           MPI_COMM_WORLD));
        return finish();
    }
    if (strcmp(what, "fatal") == 0)
        disagree(MPI_COMM_WORLD, false);
    const bool survivors = strcmp(what, "survivors") == 0;
    if (world.rank == 1 && (survivors || strcmp(what, "killed") == 0))
        raise(SIGKILL);
    if (survivors) {
        int sum = -1;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        tell(MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        _exit(0); /* the library's end would wait for all */
    }
    if (world.rank == 1 && strcmp(what, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 7);
        pause(); /* it may return, in MPICH 5 */
    }
    sum_of_all(MPI_COMM_WORLD);
    printf("rank %d has come through\n", world.rank);
    return finish();
}
