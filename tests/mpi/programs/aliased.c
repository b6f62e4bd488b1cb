/* SPDX-License-Identifier: BSD-3-Clause */
/* Contributions that share memory with the result: not allowed by MPI, and served as if they had
 * been read before anything was written.  Without Stretto libraries give what they like. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 40000, RANKS = 16 };
static int memory[MOST * RANKS + MOST];
static int rank, size, wrong;

static int at(int r, int i) {
    return 1000 * r + i;
}

static void fill(int *data, int n) {
    memset(memory, 0, sizeof(memory));
    for (int i = 0; i < n; ++i)
        data[i] = at(rank, i);
}

static void expect(const char *call, int is, int right) {
    if (is != right && wrong++ < 5)
        printf("rank %d: %s gives %d, not %d\n", rank, call, is, right);
}

static void sums(const char *call, const int *got, int first, int n) {
    for (int i = 0; i < n; ++i)
        expect(call, got[i], 1000 * (size * (size - 1) / 2) + size * (first + i));
}

static void calls(int n) {
    for (int shift = 1; shift < n; shift *= 7) {
        fill(memory, n);
        MPI_Allreduce(memory, memory + shift, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sums("allreduce", memory + shift, 0, n);
        fill(memory + shift, n);
        MPI_Reduce(memory + shift, memory, n, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
        if (rank == size - 1)
            sums("reduce", memory, 0, n);
        MPI_Request request;
        fill(memory, n);
        MPI_Iallreduce(memory, memory + shift, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sums("iallreduce", memory + shift, 0, n);
    }
    fill(memory + n * rank, n);
    MPI_Allgather(memory + n * rank, n, MPI_INT, memory, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < n; ++i)
            expect("allgather", memory[n * r + i], at(r, i));
    fill(memory, n * size);
    MPI_Reduce_scatter_block(memory, memory, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sums("reduce_scatter_block", memory, n * rank, n);
    int counts[RANKS], first = 0;
    for (int r = 0; r < size; ++r) {
        counts[r] = n - r % 2;
        first += r < rank ? counts[r] : 0;
    }
    fill(memory, n * size);
    MPI_Reduce_scatter(memory, memory, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sums("reduce_scatter", memory, first, counts[rank]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    calls(3);
    calls(MOST);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all == 0 ? "right" : "wrong");
    MPI_Finalize();
    return all != 0;
}
