/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that call at the same time, each on a communicator of its own. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 4, ROUNDS = 120, N = 33, TAG = 1 };

static Ranks ranks[THREADS];

static void one_round(const Ranks *of, size_t salt) {
    const int next = (of->rank + 1) % of->size, previous = (of->rank + of->size - 1) % of->size;
    int mine[N], sums[N], least[N], told = of->rank == 0 ? (int)salt : -1, received = -1;
    fill(mine, N, of->rank, salt);
    memset(least, 0xa5, sizeof least);
    MPI_Request request;
    MPI_Iallreduce(mine, least, N, MPI_INT, MPI_MIN, of->comm, &request);
    MPI_Allreduce(mine, sums, N, MPI_INT, MPI_SUM, of->comm);
    check_sums(sums, N, of->size, salt);
    MPI_Sendrecv(mine, 1, MPI_INT, next, TAG, &received, 1, MPI_INT, previous, TAG, of->comm,
                 MPI_STATUS_IGNORE);
    CHECK(received == number(previous, salt));
    MPI_Bcast(&told, 1, MPI_INT, 0, of->comm);
    CHECK(told == (int)salt);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_filled(least, N, 0, salt);
}

static void *work(void *number_of_thread) {
    const size_t thread = (size_t)(uintptr_t)number_of_thread;
    const Ranks *const of = &ranks[thread];
    for (size_t round = 0; round < ROUNDS; ++round) {
        one_round(of, 1000 * thread + 7 * round);
        if (round % 40 != 0)
            continue;
        MPI_Comm comm;
        MPI_Comm_dup(of->comm, &comm);
        const Ranks more = ranks_of(comm);
        one_round(&more, round);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (start_threads(&argc, &argv) < MPI_THREAD_MULTIPLE) {
        if (world.rank == 0)
            printf("this library has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < THREADS; ++i) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        ranks[i] = ranks_of(comm);
    }
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&ranks[i].comm);
    return finish();
}
