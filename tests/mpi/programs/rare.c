/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI allows and few programs do.  The first argument says what:
 *   start-order  persistent calls are started in another order on another rank (MPI 4.0, 6.13)
 *   freed        a communicator is freed while a call on it is under way (MPI 4.0, 7.4.3)
 *   freed-init   the same of a persistent call, which is started after that
 *   many         more calls than MPI has tags, beside one that is under way all the time
 *   status-any   a call is looked at by MPI_Request_get_status_any, _all and _some (MPI 4.1)
 *   status-some  the same beside messages */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

enum { N = 19 };

#ifdef HAS_PERSISTENT
static void start_order(void) {
    enum { CALLS = 3 };
    static int mine[CALLS][N], sums[CALLS][N];
    MPI_Request requests[CALLS];
    for (int call = 0; call < CALLS; ++call)
        MPI_Allreduce_init(mine[call], sums[call], N - call, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &requests[call]);
    for (int round = 0; round < 6; ++round) {
        const size_t salt = next_salt();
        for (int i = 0; i < CALLS; ++i) {
            const int call = (i + world.rank + round) % CALLS;
            fill(mine[call], N, world.rank, salt + 100 * (size_t)call);
            MPI_Start(&requests[call]);
        }
        MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
        for (int call = 0; call < CALLS; ++call)
            check_sums(sums[call], (size_t)(N - call), world.size, salt + 100 * (size_t)call);
    }
    for (int call = 0; call < CALLS; ++call)
        MPI_Request_free(&requests[call]);
}
#endif

#ifdef HAS_PERSISTENT
static void many(void) {
    enum { CALLS = 33000 }; /* any library has tags up to 32767 */
    int mine = number(world.rank, 0), sum = -1, wrong = 0;
    MPI_Request again;
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
    MPI_Start(&again);
    for (int call = 0; call < CALLS; ++call) {
        int one = call + world.rank, most = -1;
        MPI_Request request;
        MPI_Iallreduce(&one, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += most != call + world.size - 1;
    }
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    CHECK(wrong == 0 && sum == sum_of_numbers(world.size, 0));
    MPI_Request_free(&again);
}
#endif

/* Used in both ways, so that Stretto has made what it needs. */
static MPI_Comm used_comm(void) {
    MPI_Comm comm;
    MPI_Request request;
    int sum = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    return comm;
}

static void freed(void) {
    for (int round = 0; round < 3; ++round) {
        const size_t salt = next_salt();
        int mine[N], sums[N], more[N];
        fill(mine, N, world.rank, salt);
        MPI_Comm comm = used_comm();
        MPI_Request requests[2];
        MPI_Iallreduce(mine, sums, N, MPI_INT, MPI_SUM, comm, &requests[0]);
        MPI_Iallreduce(mine, more, N, MPI_INT, MPI_MAX, comm, &requests[1]);
        MPI_Comm_free(&comm);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check_sums(sums, N, world.size, salt);
        check_filled(more, N, world.size - 1, salt);
    }
}

#ifdef HAS_PERSISTENT
static void freed_init(void) {
    int mine[N] = {0}, sums[N];
    MPI_Comm comm = used_comm();
    MPI_Request request;
    MPI_Allreduce_init(mine, sums, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    MPI_Comm_free(&comm);
    for (int round = 0; round < 3; ++round) {
        const size_t salt = next_salt();
        fill(mine, N, world.rank, salt);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sums(sums, N, world.size, salt);
    }
    MPI_Request_free(&request);
}
#endif

/* The library may be older than these functions: then they are Stretto's. */
static struct {
    int (*all)(int, const MPI_Request *, int *, MPI_Status *);
    int (*any)(int, const MPI_Request *, int *, int *, MPI_Status *);
    int (*some)(int, const MPI_Request *, int *, int *, MPI_Status *);
} look;

static void find_looks(void) {
    *(void **)&look.all = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all");
    *(void **)&look.any = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_any");
    *(void **)&look.some = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_some");
}

static void status_any(void) {
    find_looks();
    int mine = number(world.rank, 1), sums[3] = {-1, -1, -1}, index = -1, done = 0, indices[1];
    MPI_Request request;
    MPI_Iallreduce(&mine, &sums[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    while (!done)
        look.any(1, &request, &index, &done, MPI_STATUS_IGNORE);
    CHECK(index == 0 && request != MPI_REQUEST_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&mine, &sums[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    for (done = 0; !done;)
        look.all(1, &request, &done, MPI_STATUSES_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&mine, &sums[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    for (done = 0; done != 1;)
        look.some(1, &request, &done, indices, MPI_STATUSES_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i)
        CHECK(sums[i] == sum_of_numbers(world.size, 1));
}

/* Beside a message that has come, one that has not, and none. */
static void status_some(void) {
    find_looks();
    int mine = number(world.rank, 1), index = -1, done = 0;
    enum { MINE, COME, NONE, LATE, ALL };
    int come = -1, late = -1, sum = -1, some[ALL];
    MPI_Request requests[ALL];
    MPI_Status statuses[ALL];
    requests[NONE] = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[MINE]);
    MPI_Irecv(&come, 1, MPI_INT, world.rank, 1, MPI_COMM_WORLD, &requests[COME]);
    MPI_Send(&mine, 1, MPI_INT, world.rank, 1, MPI_COMM_WORLD);
    MPI_Irecv(&late, 1, MPI_INT, world.rank, 2, MPI_COMM_WORLD, &requests[LATE]);
    while (look.some(ALL, requests, &done, some, statuses) == 0 && done != 2)
        continue;
    CHECK(some[0] == MINE && some[1] == COME && statuses[1].MPI_TAG == 1);
    look.all(ALL, requests, &done, statuses);
    CHECK(!done);
    MPI_Send(&mine, 1, MPI_INT, world.rank, 2, MPI_COMM_WORLD);
    for (done = 0; !done;)
        look.all(ALL, requests, &done, statuses);
    CHECK(statuses[COME].MPI_TAG == 1 && statuses[LATE].MPI_SOURCE == world.rank &&
          statuses[LATE].MPI_TAG == 2);
    MPI_Waitall(ALL, requests, MPI_STATUSES_IGNORE);
    CHECK(come == mine && late == mine && sum == sum_of_numbers(world.size, 1));
    look.any(ALL, requests, &index, &done, &statuses[0]);
    CHECK(done && index == MPI_UNDEFINED);
    look.some(ALL, requests, &done, some, statuses);
    CHECK(done == MPI_UNDEFINED);
}

static bool is(const char *what, const char *name) {
    return strcmp(what, name) == 0;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *const what = argc > 1 ? argv[1] : "";
    if (is(what, "freed"))
        freed();
#ifdef HAS_PERSISTENT
    else if (is(what, "start-order"))
        start_order();
    else if (is(what, "freed-init"))
        freed_init();
    else if (is(what, "many"))
        many();
#endif
    else if (is(what, "status-any"))
        status_any();
    else if (is(what, "status-some"))
        status_some();
    else if (world.rank == 0)
        printf("this library has no %s\n", what);
    return finish();
}
