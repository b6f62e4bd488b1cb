/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent calls: started again and again, with other data, beside the library's persistent
 * messages; one is left when the program ends. */
#include "parts.h"

#ifdef HAS_PERSISTENT

enum { N = 23, ROUNDS = 9, TAG = 4 };
enum { SUMS, RECEIVE, MAXIMA, SEND, REQUESTS };

static MPI_Request init(const void *send, void *recv, MPI_Op op, MPI_Comm comm) {
    MPI_Request made;
    MPI_Allreduce_init(send, recv, N, MPI_INT, op, comm, MPI_INFO_NULL, &made);
    return made;
}

static void start_all(int round, MPI_Request *requests) {
    if (round % 2 == 0)
        MPI_Startall(REQUESTS, requests);
    else
        for (int i = 0; i < REQUESTS; ++i)
            MPI_Start(&requests[i]);
}

static void finish_all(int round, MPI_Request *requests) {
    int done = 0, index = 0, ended = 0, indices[REQUESTS];
    switch (round % 5) {
    case 0: MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE); break;
    case 1: /* one by one: MPICH 5 fails in its own MPI_Testall of persistent collectives */
        for (int i = 0; i < REQUESTS; ++i)
            for (done = 0; !done;)
                MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        break;
    case 2: /* those that have ended are inactive, and looked over */
        for (int i = 0; i < REQUESTS; ++i) {
            MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
            CHECK(index >= 0 && index < REQUESTS);
        }
        break;
    case 3:
        for (int all = 0; all < REQUESTS; all += ended) {
            MPI_Waitsome(REQUESTS, requests, &ended, indices, MPI_STATUSES_IGNORE);
            CHECK(ended > 0);
            if (ended <= 0)
                break;
        }
        break;
    default:
        for (int i = 0; i < REQUESTS; ++i) {
            for (done = 0; !done;)
                MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
            for (done = 0; !done;)
                MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        }
    }
    /* Nothing runs any more. */
    MPI_Wait(&requests[SUMS], MPI_STATUS_IGNORE);
    MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
}

void persistent(const Ranks *of) {
#ifdef MPICH_4_0
    /* It waits for its own that are inactive.  Of these, Stretto serves all. */
    if (of->comm != MPI_COMM_WORLD)
        return;
#endif
    static int left_send, left_recv;
    const int next = (of->rank + 1) % of->size, previous = (of->rank + of->size - 1) % of->size;
    int mine[N] = {0}, sums[N], maxima[N], message[N];
    MPI_Request requests[REQUESTS];
    requests[SUMS] = init(mine, sums, MPI_SUM, of->comm);
    requests[MAXIMA] = init(MPI_IN_PLACE, maxima, MPI_MAX, of->comm);
    MPI_Recv_init(message, N, MPI_INT, previous, TAG, of->comm, &requests[RECEIVE]);
    MPI_Send_init(mine, N, MPI_INT, next, TAG, of->comm, &requests[SEND]);
    for (int round = 0; round < ROUNDS; ++round) {
        const size_t salt = next_salt();
        fill(mine, N, of->rank, salt);
        fill(maxima, N, of->rank, salt + 1);
        memset(sums, 0xa5, sizeof sums);
        memset(message, 0xa5, sizeof message);
        start_all(round, requests);
        int other = -1; /* a call in between has nothing to do with them */
        MPI_Allreduce(&of->rank, &other, 1, MPI_INT, MPI_SUM, of->comm);
        CHECK(other == of->size * (of->size - 1) / 2);
        finish_all(round, requests);
        check_sums(sums, N, of->size, salt);
        check_filled(maxima, N, of->size - 1, salt + 1);
        check_filled(message, N, previous, salt);
        for (int i = 0; i < REQUESTS; ++i)
            CHECK(requests[i] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < REQUESTS; ++i) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
#ifdef HAS_LARGE_COUNTS
    const size_t salt = next_salt();
    MPI_Request request;
    fill(mine, N, of->rank, salt);
    MPI_Allreduce_init_c(mine, sums, N, MPI_INT, MPI_SUM, of->comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sums(sums, N, of->size, salt);
    MPI_Request_free(&request);
#endif
    if (of->comm == MPI_COMM_WORLD) {
        MPI_Request left;
        MPI_Allreduce_init(&left_send, &left_recv, 1, MPI_INT, MPI_SUM, of->comm, MPI_INFO_NULL,
                           &left);
        MPI_Start(&left);
        MPI_Wait(&left, MPI_STATUS_IGNORE);
    }
}

#else

void persistent(const Ranks *of) {
    (void)of;
}

#endif
