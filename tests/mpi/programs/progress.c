/* SPDX-License-Identifier: BSD-3-Clause */
/* Correct programs that hang if the library's messages rest while a rank waits in Stretto, or
 * Stretto's calls while it waits in the library. */
#include "check.h"

#include <stdlib.h>

enum { TAG = 1, ROUNDS = 2 };
enum { N = 1 << 20 }; /* ints: a message so long is sent when its receiver looks */

static int *message;

static void check_message(int from, size_t salt) {
    check_filled(message, N, from, salt);
}

static void check_sum(int sum) {
    CHECK(sum == world.size * (world.size - 1) / 2);
}

static int blocking_sum(void) {
    int sum = -1;
    MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Rank 0 receives while it waits in an allreduce that rank 1 joins when it has sent. */
static void receive_while_reducing(size_t salt) {
    MPI_Request request;
    if (world.rank == 0)
        MPI_Irecv(message, N, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
    if (world.rank == 1) {
        fill(message, N, 1, salt);
        MPI_Send(message, N, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    check_sum(blocking_sum());
    if (world.rank == 0) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_message(1, salt);
    }
}

/* Rank 0 sends while it waits in a barrier that the receiver joins when it has the message. */
static void send_while_waiting(size_t salt) {
    const int last = world.size - 1;
    MPI_Request request;
    if (world.rank == 0) {
        fill(message, N, 0, salt);
        MPI_Isend(message, N, MPI_INT, last, TAG, MPI_COMM_WORLD, &request);
    }
    if (world.rank == last) {
        MPI_Recv(message, N, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_message(0, salt);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* While the allreduce runs rank 0 receives what rank 1 sends after it. */
static void receive_meanwhile(MPI_Request *request, const int *sum, size_t salt) {
    if (world.rank == 0)
        MPI_Recv(message, N, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    check_sum(*sum);
    if (world.rank == 0)
        check_message(1, salt);
    if (world.rank == 1) {
        fill(message, N, 1, salt);
        MPI_Send(message, N, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
}

/* Rank 0 has begun an allreduce and receives; rank 1 sends when the allreduce has ended. */
static void reduce_while_receiving(size_t salt) {
    MPI_Request request;
    int sum = -1;
    MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    receive_meanwhile(&request, &sum, salt);
}

#ifdef HAS_PERSISTENT
/* The same of a persistent call. */
static void reduce_again_while_receiving(size_t salt) {
    MPI_Request request;
    int sum = -1;
    MPI_Allreduce_init(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    MPI_Start(&request);
    receive_meanwhile(&request, &sum, salt);
    MPI_Request_free(&request);
}
#endif

/* Even ranks wait for either of a message and an allreduce; odd ones for the allreduce first. */
static void either_first(size_t salt) {
    enum { SUM, RECEIVED, SENT, REQUESTS };
    const int next = (world.rank + 1) % world.size;
    const int previous = (world.rank + world.size - 1) % world.size;
    int sum = -1, sent = number(world.rank, salt), received = -1, ended = 0, indices[REQUESTS];
    MPI_Request requests[REQUESTS];
    MPI_Iallreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[SUM]);
    MPI_Irecv(&received, 1, MPI_INT, previous, TAG, MPI_COMM_WORLD, &requests[RECEIVED]);
    if (world.rank % 2 == 1)
        MPI_Wait(&requests[SUM], MPI_STATUS_IGNORE);
    MPI_Isend(&sent, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[SENT]);
    for (;;) {
        MPI_Waitsome(REQUESTS, requests, &ended, indices, MPI_STATUSES_IGNORE);
        if (ended == MPI_UNDEFINED)
            break;
    }
    check_sum(sum);
    CHECK(received == number(previous, salt));
}

/* Even ranks wait for the library's own call first, odd ones wait in Stretto's meanwhile. */
static void own_call_while_reducing(size_t salt) {
    MPI_Request request;
    int value = world.rank == 0 ? number(0, salt) : -1;
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    if (world.rank % 2 == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(blocking_sum());
    if (world.rank % 2 == 1)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(value == number(0, salt));
}

/* Rank 0 does nothing for rank 1's access to its window but wait in a barrier. */
static void access_while_waiting(size_t salt) {
    MPI_Win window;
    int *memory, value = number(1, salt), read = -1;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memory[0] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&read, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    CHECK(read == value);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    message = malloc(N * sizeof *message);
    void (*const scenes[])(size_t) = {receive_while_reducing,  send_while_waiting,
                                      reduce_while_receiving,  either_first,
                                      own_call_while_reducing, access_while_waiting};
    for (int round = 0; round < ROUNDS; ++round) {
        for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; ++i)
            scenes[i](next_salt());
#ifdef HAS_PERSISTENT
        reduce_again_while_receiving(next_salt());
#endif
    }
    free(message);
    return finish();
}
