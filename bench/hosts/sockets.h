/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program does with plain TCP sockets, without any library: the ring that libraries are
 * measured by, and the messages alone of which a small collective is made.
 */
#ifndef HOSTS_SOCKETS_H
#define HOSTS_SOCKETS_H

#include <stddef.h>

typedef struct Sockets Sockets;

/* Connects each two ranks of MPI_COMM_WORLD.  Ends the job with a message when that fails. */
Sockets *sockets_open(int rank, int size);
void sockets_close(Sockets *sockets);

/* The allreduce (sum) by a ring of 2(P-1) steps: a chunk is sent to the next rank while one comes
 * from the previous rank; when both are done, it is reduced, and the next step begins.  Nothing
 * overlaps with the arithmetic, and memory for what comes is taken for each call: the structure of
 * baidu-allreduce. */
void sockets_ring(Sockets *sockets, const float *send, float *recv, size_t count);

/* Messages alone, nothing is computed: in round k, `bytes` to the rank 2^k further, and as many
 * from the one 2^k before.  P ceil(log2 P) messages, after which each rank has heard of all. */
void sockets_exchange(Sockets *sockets, void *memory, size_t bytes);

/* Messages alone: up a binomial tree to rank 0 and down again.  2(P-1) messages: fewer do not
 * make an allreduce. */
void sockets_tree(Sockets *sockets, void *memory, size_t bytes);

#endif
