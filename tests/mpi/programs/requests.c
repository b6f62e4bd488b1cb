/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking calls that Stretto serves beside requests of the library's own, in all the ways in
 * which MPI waits for them. */
#include "parts.h"

enum { TAG = 9, N = 31, REQUESTS = 4 };
enum { SUMS, RECEIVED, MAXIMA, SENT }; /* the requests: served and not in turns */

typedef void (*Finish)(MPI_Request *requests, MPI_Status *statuses);

static void by_wait(MPI_Request *requests, MPI_Status *statuses) {
    for (int i = REQUESTS - 1; i >= 0; --i)
        MPI_Wait(&requests[i], &statuses[i]);
}

static void by_waitall(MPI_Request *requests, MPI_Status *statuses) {
    MPI_Waitall(REQUESTS, requests, statuses);
}

static void by_waitany(MPI_Request *requests, MPI_Status *statuses) {
    unsigned seen = 0;
    for (int i = 0; i < REQUESTS; ++i) {
        int index = -1;
        MPI_Status status;
        MPI_Waitany(REQUESTS, requests, &index, &status);
        CHECK(index >= 0 && index < REQUESTS && (seen >> index & 1) == 0);
        seen |= 1u << index;
        statuses[index] = status;
    }
    int index = 0;
    MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
}

/* One of several that end together; none is left for MPI_UNDEFINED to say. */
static void take_some(int ended, const int *indices, const MPI_Status *some, MPI_Status *statuses,
                      unsigned *seen) {
    for (int i = 0; i < ended; ++i) {
        CHECK(indices[i] >= 0 && indices[i] < REQUESTS && (*seen >> indices[i] & 1) == 0);
        *seen |= 1u << indices[i];
        statuses[indices[i]] = some[i];
    }
}

static void by_waitsome(MPI_Request *requests, MPI_Status *statuses) {
    int ended = 0, indices[REQUESTS];
    MPI_Status some[REQUESTS];
    for (unsigned seen = 0; seen != (1u << REQUESTS) - 1;) {
        MPI_Waitsome(REQUESTS, requests, &ended, indices, some);
        CHECK(ended > 0);
        take_some(ended, indices, some, statuses, &seen);
    }
    MPI_Waitsome(REQUESTS, requests, &ended, indices, some);
    CHECK(ended == MPI_UNDEFINED);
}

static void by_test(MPI_Request *requests, MPI_Status *statuses) {
    for (int i = 0; i < REQUESTS; ++i)
        for (int done = 0; !done;)
            MPI_Test(&requests[i], &done, &statuses[i]);
}

static void by_testall(MPI_Request *requests, MPI_Status *statuses) {
    for (int done = 0; !done;)
        MPI_Testall(REQUESTS, requests, &done, statuses);
}

static void by_testany(MPI_Request *requests, MPI_Status *statuses) {
    for (int ended = 0; ended < REQUESTS;) {
        int index = -1, done = 0;
        MPI_Status status;
        MPI_Testany(REQUESTS, requests, &index, &done, &status);
        if (!done)
            continue;
        ++ended;
        CHECK(index >= 0 && index < REQUESTS);
        statuses[index] = status;
    }
}

static void by_testsome(MPI_Request *requests, MPI_Status *statuses) {
    for (unsigned seen = 0; seen != (1u << REQUESTS) - 1;) {
        int ended = 0, indices[REQUESTS];
        MPI_Status some[REQUESTS];
        MPI_Testsome(REQUESTS, requests, &ended, indices, some);
        take_some(ended, indices, some, statuses, &seen);
    }
}

/* Looks without ending anything, again and again, and then ends it. */
static void by_status(MPI_Request *requests, MPI_Status *statuses) {
    for (int i = 0; i < REQUESTS; ++i) {
        for (int done = 0; !done;)
            MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
        CHECK(requests[i] != MPI_REQUEST_NULL);
        MPI_Wait(&requests[i], &statuses[i]);
    }
}

static void check_received(const MPI_Status *status, int source) {
    int n = -1;
    MPI_Get_count(status, MPI_INT, &n);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == TAG && n == N);
}

static void all_together(const Ranks *of, Finish finish_them) {
    const int next = (of->rank + 1) % of->size, previous = (of->rank + of->size - 1) % of->size;
    const size_t salt = next_salt(), bytes = N * sizeof(int);
    char *const mine = guarded(bytes, 0), *const sums = guarded(bytes, 0);
    char *const maxima = guarded(bytes, 1), *const message = guarded(bytes, 0);
    fill(mine, N, of->rank, salt);
    fill(maxima, N, of->rank, salt + 1);
    MPI_Request requests[REQUESTS];
    MPI_Status statuses[REQUESTS];
    MPI_Irecv(message, N, MPI_INT, previous, TAG, of->comm, &requests[RECEIVED]);
    MPI_Iallreduce(mine, sums, N, MPI_INT, MPI_SUM, of->comm, &requests[SUMS]);
    MPI_Iallreduce(MPI_IN_PLACE, maxima, N, MPI_INT, MPI_MAX, of->comm, &requests[MAXIMA]);
    MPI_Isend(mine, N, MPI_INT, next, TAG, of->comm, &requests[SENT]);
    finish_them(requests, statuses);
    for (int i = 0; i < REQUESTS; ++i)
        CHECK(requests[i] == MPI_REQUEST_NULL);
    check_sums(sums, N, of->size, salt);
    check_filled(maxima, N, of->size - 1, salt + 1);
    check_filled(message, N, previous, salt);
    check_received(&statuses[RECEIVED], previous);
    unguard(mine);
    unguard(sums);
    unguard(maxima);
    unguard(message);
}

/* More at once than there are ways to order them, waited for from the last to the first. */
static void many_at_once(const Ranks *of) {
    enum { MANY = 40 };
    MPI_Request made[MANY];
    int mine[MANY], sums[MANY];
    const size_t salt = next_salt();
    for (int i = 0; i < MANY; ++i) {
        mine[i] = number(of->rank, salt + (size_t)i);
        sums[i] = -1;
        MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, of->comm, &made[i]);
    }
    for (int i = MANY - 1; i >= 0; --i)
        MPI_Wait(&made[i], MPI_STATUS_IGNORE);
    check_sums(sums, MANY, of->size, salt);
}

#ifdef HAS_LARGE_COUNTS
static void large_counts(const Ranks *of) {
    const size_t salt = next_salt();
    int mine[N], sums[N];
    MPI_Request request;
    fill(mine, N, of->rank, salt);
    memset(sums, 0xa5, sizeof sums);
    MPI_Iallreduce_c(mine, sums, N, MPI_INT, MPI_SUM, of->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sums(sums, N, of->size, salt);
}
#endif

void requests(const Ranks *of) {
    const Finish ways[] = {by_wait,    by_waitall, by_waitany,  by_waitsome, by_test,
                           by_testall, by_testany, by_testsome, by_status};
    for (int turn = 0; turn < 2; ++turn) {
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i)
            all_together(of, ways[i]);
        /* A blocking call makes what nonblocking ones need: the second turn has it. */
        MPI_Barrier(of->comm);
    }
    many_at_once(of);
#ifdef HAS_LARGE_COUNTS
    large_counts(of);
#endif
}
