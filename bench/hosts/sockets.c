/* SPDX-License-Identifier: BSD-3-Clause */
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct Sockets {
    int rank, size;
    int *to; /* a connection for each rank */
};

static void fail(const char *what) {
    fprintf(stderr, "sockets: %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *taken(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL)
        fail("malloc");
    return memory;
}

/* ---- connections */

/* Listens at the address that this host's own name stands for. */
static int listen_here(int backlog, struct sockaddr_in *address) {
    char name[256];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    if (gethostname(name, sizeof(name)) != 0 || getaddrinfo(name, NULL, &hints, &found) != 0)
        fail("the address of this host's name");
    memcpy(address, found->ai_addr, sizeof(*address));
    freeaddrinfo(found);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof(*address);
    if (listener < 0 || bind(listener, (struct sockaddr *)address, length) != 0 ||
        listen(listener, backlog) != 0 ||
        getsockname(listener, (struct sockaddr *)address, &length) != 0)
        fail("listen");
    return listener;
}

static int call(const struct sockaddr_in *address, int rank) {
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    if (made < 0 || connect(made, (const struct sockaddr *)address, sizeof(*address)) != 0 ||
        send(made, &rank, sizeof(rank), 0) != sizeof(rank))
        fail("connect");
    return made;
}

static int answer(int listener, int *rank) {
    const int made = accept(listener, NULL, NULL);
    if (made < 0 || recv(made, rank, sizeof(*rank), MSG_WAITALL) != sizeof(*rank))
        fail("accept");
    return made;
}

Sockets *sockets_open(int rank, int size) {
    Sockets *sockets = taken(sizeof(*sockets));
    struct sockaddr_in mine, *all = taken((size_t)size * sizeof(*all));
    *sockets = (Sockets){rank, size, taken((size_t)size * sizeof(int))};
    const int listener = listen_here(size, &mine);
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, MPI_COMM_WORLD);
    sockets->to[rank] = -1;
    for (int r = 0; r < rank; r++)
        sockets->to[r] = call(&all[r], rank);
    for (int left = size - 1 - rank; left > 0; left--) {
        int who;
        const int made = answer(listener, &who);
        sockets->to[who] = made;
    }
    const int on = 1;
    for (int r = 0; r < size; r++)
        if (r != rank && setsockopt(sockets->to[r], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
            fail("TCP_NODELAY");
    close(listener);
    free(all);
    return sockets;
}

void sockets_close(Sockets *sockets) {
    for (int r = 0; r < sockets->size; r++)
        if (r != sockets->rank)
            close(sockets->to[r]);
    free(sockets->to);
    free(sockets);
}

/* ---- messages */

/* Bytes that could be moved now: 0 if none. */
static size_t moved(ssize_t result, const char *what) {
    if (result > 0)
        return (size_t)result;
    if (result < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (result == 0)
        errno = ECONNRESET;
    fail(what);
    return 0;
}

static void receive_all(int from, char *in, size_t bytes) {
    while (bytes > 0) {
        const size_t got = moved(recv(from, in, bytes, MSG_WAITALL), "recv");
        in += got;
        bytes -= got;
    }
}

/* Sends and receives at once, and returns when both are done.  A message that fits into the socket
 * costs one system call each way. */
static void send_receive(int to, const void *out, size_t out_bytes, int from, void *in,
                         size_t in_bytes) {
    const char *next_out = out;
    char *next_in = in;
    while (out_bytes > 0) {
        const size_t sent =
            moved(send(to, next_out, out_bytes, MSG_DONTWAIT | MSG_NOSIGNAL), "send");
        next_out += sent;
        out_bytes -= sent;
        if (out_bytes == 0)
            break;
        struct pollfd ends[2] = {{to, POLLOUT, 0}, {in_bytes > 0 ? from : -1, POLLIN, 0}};
        if (poll(ends, 2, -1) < 0 && errno != EINTR)
            fail("poll");
        if (ends[1].revents != 0) {
            const size_t got = moved(recv(from, next_in, in_bytes, MSG_DONTWAIT), "recv");
            next_in += got;
            in_bytes -= got;
        }
    }
    receive_all(from, next_in, in_bytes);
}

/* ---- what is made of them */

void sockets_ring(Sockets *sockets, const float *send, float *recv, size_t count) {
    const int size = sockets->size, rank = sockets->rank;
    const int next = sockets->to[(rank + 1) % size],
              previous = sockets->to[(rank + size - 1) % size];
    const size_t parts = (size_t)size;
    /* Chunk c begins at count * c / P. */
    size_t *from = taken((parts + 1) * sizeof(*from));
    for (size_t c = 0; c <= parts; c++)
        from[c] = count / parts * c + (count % parts) * c / parts;
    float *came = taken((count / parts + 1) * sizeof(float));
    memcpy(recv, send, count * sizeof(float));
    for (int step = 0; step < 2 * (size - 1); step++) {
        const int out = ((rank - step) % size + size) % size, in = (out + size - 1) % size;
        const size_t elements = from[in + 1] - from[in];
        const int reduces = step < size - 1;
        float *into = recv + from[in];
        send_receive(next, recv + from[out], (from[out + 1] - from[out]) * sizeof(float), previous,
                     reduces ? came : into, elements * sizeof(float));
        for (size_t i = 0; reduces && i < elements; i++)
            into[i] += came[i];
    }
    free(came);
    free(from);
}

void sockets_exchange(Sockets *sockets, void *memory, size_t bytes) {
    const int size = sockets->size, rank = sockets->rank;
    for (int distance = 1; distance < size; distance *= 2)
        send_receive(sockets->to[(rank + distance) % size], memory, bytes,
                     sockets->to[(rank + size - distance) % size], memory, bytes);
}

void sockets_tree(Sockets *sockets, void *memory, size_t bytes) {
    const int size = sockets->size, rank = sockets->rank;
    /* The parent is the rank without its lowest bit, the children have a bit below that added. */
    int bit = 1;
    for (; bit < size && (rank & bit) == 0; bit *= 2)
        if (rank + bit < size)
            receive_all(sockets->to[rank + bit], memory, bytes);
    if (rank != 0) {
        const int parent = sockets->to[rank - bit];
        send_receive(parent, memory, bytes, parent, memory, bytes);
    }
    while ((bit /= 2) > 0)
        if (rank + bit < size)
            send_receive(sockets->to[rank + bit], memory, bytes, -1, NULL, 0);
}
