/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with sessions alone, which never has an MPI_COMM_WORLD. */
#include "check.h"

int main(void) {
#ifdef HAS_SESSIONS
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "tests/mpi", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    const Ranks of = ranks_of(comm);
    int sum = -1;
    MPI_Allreduce(&of.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    const bool right = sum == of.size * (of.size - 1) / 2;
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    if (of.rank == 0)
        printf("1 checks, %d failed\n", right ? 0 : 1);
    return right ? 0 : 1;
#else
    printf("this library has no sessions\n");
    return 0;
#endif
}
