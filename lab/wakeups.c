// SPDX-License-Identifier: BSD-3-Clause
// The ranks of `lab/wakeups --mpi`: threads of MPI processes, each with a communicator of its own,
// make small calls.  Each rank writes FOLDER/RANK.pid when it begins, and its longest calls to
// FOLDER/RANK.json when it ends.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 64, MOST_THREADS = 64 };

struct call {
    double begin, end;
    const char *kind;
};

struct player {
    MPI_Comm comm;
    long calls, made;
    double end;
    int wrong, kept;
    struct call longest[KEPT];
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Replaces the shortest kept one.
static void note(struct player *player, struct call call) {
    if (player->kept < KEPT) {
        player->longest[player->kept++] = call;
        return;
    }
    int least = 0;
    for (int i = 1; i < KEPT; ++i)
        if (player->longest[i].end - player->longest[i].begin <
            player->longest[least].end - player->longest[least].begin)
            least = i;
    if (call.end - call.begin > player->longest[least].end - player->longest[least].begin)
        player->longest[least] = call;
}

static void *play(void *argument) {
    struct player *player = argument;
    int rank, size;
    MPI_Comm_rank(player->comm, &rank);
    MPI_Comm_size(player->comm, &size);
    const long long right = (long long)size * (size - 1) / 2;
    int going = 1;
    while (player->made < player->calls && going) {
        static const char *const kinds[] = {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Bcast",
                                            "MPI_Barrier"};
        const int kind = (int)(player->made / 7 % 4);
        long long send = rank + player->made, recv = -1, expected = right + size * player->made;
        MPI_Request request;
        struct call call = {now(), 0, kinds[kind]};
        if (kind == 0) {
            MPI_Allreduce(&send, &recv, 1, MPI_LONG_LONG, MPI_SUM, player->comm);
        } else if (kind == 1) {
            MPI_Iallreduce(&send, &recv, 1, MPI_LONG_LONG, MPI_SUM, player->comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (kind == 2) {
            const int root = (int)(player->made % size);
            recv = rank == root ? player->made : -1;
            expected = player->made;
            MPI_Bcast(&recv, 1, MPI_LONG_LONG, root, player->comm);
        } else {
            MPI_Barrier(player->comm);
            recv = expected;
        }
        call.end = now();
        player->wrong += recv != expected;
        note(player, call);
        if (++player->made % 1000 == 0) { // all end at the same call
            going = now() < player->end;
            MPI_Allreduce(MPI_IN_PLACE, &going, 1, MPI_INT, MPI_MIN, player->comm);
        }
    }
    return NULL;
}

static FILE *create(const char *folder, int rank, const char *kind) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", folder, rank, kind);
    return fopen(path, "w");
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int threads = argc == 5 ? atoi(argv[4]) : 0;
    if (threads < 1 || threads > MOST_THREADS || (threads > 1 && provided < MPI_THREAD_MULTIPLE)) {
        fprintf(stderr, "usage: wakeups FOLDER CALLS SECONDS THREADS; several threads take "
                        "MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    FILE *file = create(argv[1], rank, "pid");
    fprintf(file, "%d", (int)getpid());
    fclose(file);
    static struct player players[MOST_THREADS];
    pthread_t handles[MOST_THREADS];
    for (int i = 0; i < threads; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &players[i].comm);
        players[i].calls = atol(argv[2]) / threads;
        players[i].end = now() + atof(argv[3]);
    }
    for (int i = 0; i < threads; ++i)
        pthread_create(&handles[i], NULL, play, &players[i]);
    long made = 0;
    int wrong = 0;
    for (int i = 0; i < threads; ++i) {
        pthread_join(handles[i], NULL);
        made += players[i].made;
        wrong += players[i].wrong;
    }
    file = create(argv[1], rank, "json");
    fprintf(file, "{\"calls\": %ld, \"longest\": [", made);
    const char *before = "";
    for (int i = 0; i < threads; ++i)
        for (int k = 0; k < players[i].kept; ++k, before = ", ") {
            const struct call *call = &players[i].longest[k];
            fprintf(file, "%s[%.6f, %.6f, \"%s\"]", before, call->begin, call->end, call->kind);
        }
    fprintf(file, "]}\n");
    fclose(file);
    for (int i = 0; i < threads; ++i)
        MPI_Comm_free(&players[i].comm);
    if (wrong != 0)
        fprintf(stderr, "rank %d: %d results are wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
