// SPDX-License-Identifier: BSD-3-Clause
// The mesh of the proxy: an octree of p4est whose leaves are blocks of cells, and the stencil.
#ifndef STRETTO_EXAMPLES_AMR_BLOCKS_H
#define STRETTO_EXAMPLES_AMR_BLOCKS_H

#include <p8est_extended.h>
#include <p8est_ghost.h>

enum { EDGE = 4, CELLS = EDGE * EDGE * EDGE, COARSEST = 2 };

struct mesh {
    int variables, finest; // of a cell; level of the smallest blocks
    double centre[3];      // of the sphere
    p8est_t *forest;
    p8est_ghost_t *ghost;
    double *ghost_cells, *change; // change: of this rank's blocks in a stage
    int changed;                  // blocks that this rank has refined and coarsened
};
extern struct mesh mesh;

// Whether the sphere's surface crosses a block.
int crosses(const p8est_quadrant_t *block);

// A block of this rank, and how many there are.
p8est_quadrant_t *own_block(size_t i);
size_t own_count(void);

// Blocks of one size, with values that depend on the cell's place and the variable.
void make_blocks(p8est_connectivity_t *cube);

// Refines and coarsens blocks by one level, so that neighbours differ by one level at most.
void adapt_blocks(void);

// After blocks have changed or moved: finds the neighbours' blocks again.
void find_ghosts(void);

// Exchanges blocks with neighbours, then applies the stencil once.
void run_stage(void);

#endif
