// SPDX-License-Identifier: BSD-3-Clause
// A proxy of an application with adaptive mesh refinement, with the calls of miniAMR: blocks of
// cells in an octree, refined where the surface of a moving sphere crosses them; in each stage an
// exchange of ghost blocks and a seven-point stencil; between stages a checksum of each variable by
// an allreduce; allreduces of statistics in each refinement; a histogram that balances the load.
//
//   amr [-t STEPS] [-s STAGES] [-c STAGES BETWEEN CHECKSUMS] [-v VARIABLES] [-l FINEST LEVEL]
//       [-b LEVEL OF BINS]
//
// The octree is p4est's, and so are its messages.  The stencil moves the same amount out of one
// cell and into its neighbour, so the sum of a variable over the volume stays: a checksum that
// differs by more than kTolerance from the first one ends the job with status 1, as in miniAMR.
// Beside it, all bits of all cells are added up as integers.  That sum does not depend on the order
// of additions: it is the same in every run on the same number of ranks.
#include "amr_blocks.h"

#include <getopt.h>
#include <math.h>
#include <p8est_algorithms.h>
#include <p8est_bits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 8, MOST_VARIABLES = 256 };
static const double kTolerance = 1e-8;

static struct {
    int steps, stages, checksum_every, bin_level;
} given = {20, 10, 2, 4};

static double first_sum[MOST_VARIABLES], largest_error;
static long long allreduces, blocks_at[MOST_LEVELS + 1];
static int rank, ranks;
static unsigned long long hash;

static void allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op) {
    MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
    ++allreduces;
}

// ---- checksums

static double volume(const p8est_quadrant_t *block) { // of a cell
    return pow((double)P8EST_QUADRANT_LEN(block->level) / P8EST_ROOT_LEN / EDGE, 3);
}

// One allreduce for each variable, as miniAMR does.
static void check_sums(int step) {
    for (int variable = 0; variable < mesh.variables; ++variable) {
        double sum = 0, all;
        for (size_t block = 0; block < own_count(); ++block) {
            const double *cells = (double *)own_block(block)->p.user_data + variable * CELLS;
            double of_block = 0;
            for (int i = 0; i < CELLS; ++i)
                of_block += cells[i];
            sum += of_block * volume(own_block(block));
        }
        allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM);
        if (first_sum[variable] == 0)
            first_sum[variable] = all;
        const double error = fabs(all - first_sum[variable]) / first_sum[variable];
        if (!(error <= kTolerance)) { // also if it is no number
            fprintf(stderr,
                    "amr: rank %d, step %d: the sum of variable %d is %.17g, and was %.17g: "
                    "an exchange or an allreduce has lost data\n",
                    rank, step, variable, all, first_sum[variable]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        largest_error = error > largest_error ? error : largest_error;
    }
}

static void add_up_bits(void) {
    unsigned long long sums[MOST_VARIABLES] = {0}, all[MOST_VARIABLES];
    for (size_t block = 0; block < own_count(); ++block) {
        const p8est_quadrant_t *its = own_block(block);
        const unsigned long long place =
            (p8est_quadrant_linear_id(its, mesh.finest) * 8 + (unsigned long long)its->level) * 2;
        const double *cells = its->p.user_data;
        for (int i = 0; i < mesh.variables * CELLS; ++i) {
            unsigned long long bits;
            memcpy(&bits, cells + i, sizeof bits);
            sums[i / CELLS] += (bits ^ bits >> 29) * (place + 1) * (unsigned)(2 * (i % CELLS) + 1);
        }
    }
    allreduce(sums, all, mesh.variables, MPI_UNSIGNED_LONG_LONG, MPI_SUM);
    for (int variable = 0; variable < mesh.variables; ++variable)
        hash = (hash ^ all[variable]) * 0x9e3779b97f4a7c15u;
}

// ---- a refinement

static void count_blocks(void) {
    long long mine[MOST_LEVELS + 1] = {0};
    for (size_t block = 0; block < own_count(); ++block)
        ++mine[own_block(block)->level];
    allreduce(mine, blocks_at, mesh.finest + 1, MPI_LONG_LONG_INT, MPI_SUM);
}

// Ranks get runs of bins of nearly the same weight.  A bin is a cube of level `bin_level`; bins
// follow the octree's order.  Blocks that the sphere crosses weigh twice as much.
static void balance_load(void) {
    const size_t bins = (size_t)1 << 3 * given.bin_level;
    int *mine = calloc(4 * bins, sizeof *mine), *all = mine + 2 * bins;
    p4est_locidx_t *shares = calloc((size_t)ranks, sizeof *shares);
    if (mine == NULL || shares == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t block = 0; block < own_count(); ++block) {
        const size_t bin = p8est_quadrant_linear_id(own_block(block), given.bin_level);
        mine[bin] += 1;
        mine[bins + bin] += 1 + crosses(own_block(block));
    }
    allreduce(mine, all, (int)(2 * bins), MPI_INT, MPI_SUM);
    long long total = 0, before = 0;
    for (size_t bin = 0; bin < bins; ++bin)
        total += all[bins + bin];
    for (size_t bin = 0; bin < bins; before += all[bins + bin++])
        shares[before == total ? ranks - 1 : before * ranks / total] += all[bin];
    p8est_partition_given(mesh.forest, shares);
    free(shares);
    free(mine);
}

static void count_partners(void) {
    int mine[2] = {(int)mesh.ghost->ghosts.elem_count, 0}, of_all[2];
    for (int peer = 0; peer < ranks; ++peer)
        mine[1] += mesh.ghost->proc_offsets[peer] < mesh.ghost->proc_offsets[peer + 1];
    allreduce(mine, of_all, 2, MPI_INT, MPI_MIN);
    allreduce(mine, of_all, 2, MPI_INT, MPI_MAX);
    allreduce(mine, of_all, 2, MPI_INT, MPI_SUM);
}

static void refine(void) {
    count_blocks();
    for (int round = COARSEST, all = 1; round < mesh.finest && all != 0; ++round) {
        adapt_blocks();
        allreduce(&mesh.changed, &all, 1, MPI_INT, MPI_SUM);
        count_blocks();
    }
    int mine = (int)own_count(), least, most, all;
    allreduce(&mine, &least, 1, MPI_INT, MPI_MIN);
    allreduce(&mine, &most, 1, MPI_INT, MPI_MAX);
    allreduce(&mine, &all, 1, MPI_INT, MPI_SUM);
    if (most > least + 1)
        balance_load();
    find_ghosts();
    count_partners();
}

static void move(int step) {
    for (int i = 0; i < 3; ++i)
        mesh.centre[i] = 0.3 + (0.02 + 0.003 * i) * step;
}

// Whether an option's value is in its range; otherwise says so.
static int read_number(const char *text, int least, int most, int *value) {
    char *end;
    const long number = strtol(text, &end, 10);
    *value = (int)number;
    if (*end == '\0' && end != text && least <= number && number <= most)
        return 1;
    if (rank == 0)
        fprintf(stderr, "amr: '%s' is not a number from %d to %d\n", text, least, most);
    return 0;
}

static int read_options(int count, char **words) {
    int right = 1;
    opterr = rank == 0;
    for (int option; right && (option = getopt(count, words, "t:s:c:v:l:b:")) != -1;)
        switch (option) {
        case 't': right = read_number(optarg, 1, 100000, &given.steps); break;
        case 's': right = read_number(optarg, 1, 100000, &given.stages); break;
        case 'c': right = read_number(optarg, 1, 100000, &given.checksum_every); break;
        case 'v': right = read_number(optarg, 1, MOST_VARIABLES, &mesh.variables); break;
        case 'l': right = read_number(optarg, COARSEST + 1, MOST_LEVELS, &mesh.finest); break;
        case 'b': right = read_number(optarg, COARSEST, MOST_LEVELS, &given.bin_level); break;
        default: right = 0;
        }
    return right && optind == count;
}

int main(int argc, char **argv) {
    mesh.variables = 16, mesh.finest = 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!read_options(argc, argv)) {
        MPI_Finalize();
        return 2;
    }
    sc_init(MPI_COMM_WORLD, 0, 0, NULL, SC_LP_ERROR);
    p4est_init(NULL, SC_LP_ERROR);
    p8est_connectivity_t *cube = p8est_connectivity_new_unitcube();
    make_blocks(cube);
    move(0);
    refine();
    check_sums(0);
    const double start = MPI_Wtime();
    for (int step = 1; step <= given.steps; ++step) {
        for (int i = 0; i < given.stages; ++i) {
            run_stage();
            if (i % given.checksum_every == 0)
                check_sums(step);
        }
        move(step);
        refine();
        add_up_bits();
        if (rank == 0) {
            printf("step %d: blocks", step);
            for (int level = COARSEST; level <= mesh.finest; ++level)
                printf(" %lld", blocks_at[level]);
            printf(", bits %016llx\n", hash);
        }
    }
    if (rank == 0)
        printf("{\"seconds\": %.3f, \"allreduces\": %lld, \"largest_error\": %.1e, "
               "\"checksum\": \"%016llx\"}\n",
               MPI_Wtime() - start, allreduces, largest_error, hash);
    p8est_ghost_destroy(mesh.ghost);
    p8est_destroy(mesh.forest);
    p8est_connectivity_destroy(cube);
    free(mesh.ghost_cells);
    free(mesh.change);
    sc_finalize();
    MPI_Finalize();
    return 0;
}
