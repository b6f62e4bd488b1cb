// SPDX-License-Identifier: BSD-3-Clause
#include "amr_blocks.h"

#include <math.h>
#include <p8est_bits.h>
#include <p8est_iterate.h>
#include <stdlib.h>
#include <string.h>

static const int kStride[3] = {1, EDGE, EDGE * EDGE}; // of a cell's index, by direction
static const double kDiffusion = 0.125, kRadius = 0.23;

struct mesh mesh;

static size_t values(void) { // of a block
    return (size_t)(mesh.variables * CELLS);
}

int crosses(const p8est_quadrant_t *block) {
    const double edge = (double)P8EST_QUADRANT_LEN(block->level) / P8EST_ROOT_LEN;
    const int32_t corner[3] = {block->x, block->y, block->z};
    double nearest = 0, farthest = 0;
    for (int i = 0; i < 3; ++i) {
        const double low = (double)corner[i] / P8EST_ROOT_LEN - mesh.centre[i], high = low + edge;
        const double near = low > 0 ? low : high < 0 ? high : 0;
        const double far = fabs(low) > fabs(high) ? low : high;
        nearest += near * near, farthest += far * far;
    }
    return nearest <= kRadius * kRadius && kRadius * kRadius <= farthest;
}

// The values of a cell depend on its place and the variable.
static void begin(p8est_t *unused, p4est_topidx_t tree, p8est_quadrant_t *block) {
    (void)unused, (void)tree;
    double *cells = block->p.user_data;
    const unsigned place = (unsigned)p8est_quadrant_linear_id(block, COARSEST);
    for (int i = 0; i < mesh.variables * CELLS; ++i)
        cells[i] = 1 + (double)((place * 2654435761u + (unsigned)i * 40503u) >> 8 & 0xffff) / 65536;
}

// A cell's value is that of the coarse cell around it, or the mean of the eight fine ones in it.
static void replace(p8est_t *unused, p4est_topidx_t tree, int old_count, p8est_quadrant_t *old[],
                    int new_count, p8est_quadrant_t *fresh[]) {
    (void)unused, (void)tree, (void)old_count;
    const int refines = new_count == P8EST_CHILDREN;
    double *coarse = (refines ? old : fresh)[0]->p.user_data;
    if (!refines)
        memset(coarse, 0, sizeof(double) * values());
    for (int child = 0; child < P8EST_CHILDREN; ++child) {
        double *fine = (refines ? fresh : old)[child]->p.user_data;
        for (int i = 0; i < mesh.variables * CELLS; ++i) {
            int at = i / CELLS * CELLS;
            for (int d = 0; d < 3; ++d)
                at += (i % CELLS / kStride[d] % EDGE + EDGE * (child >> d & 1)) / 2 * kStride[d];
            if (refines)
                fine[i] = coarse[at];
            else
                coarse[at] += fine[i] / 8;
        }
    }
    ++mesh.changed;
}

static int should_refine(p8est_t *unused, p4est_topidx_t tree, p8est_quadrant_t *block) {
    (void)unused, (void)tree;
    return block->level < mesh.finest && crosses(block);
}

static int should_coarsen(p8est_t *unused, p4est_topidx_t tree, p8est_quadrant_t *blocks[]) {
    (void)unused, (void)tree;
    for (int child = 0; child < P8EST_CHILDREN; ++child)
        if (blocks[child]->level <= COARSEST || crosses(blocks[child]))
            return 0;
    return 1;
}

static sc_array_t *own_blocks(void) {
    return &p8est_tree_array_index(mesh.forest->trees, 0)->quadrants;
}

p8est_quadrant_t *own_block(size_t i) {
    return p8est_quadrant_array_index(own_blocks(), i);
}

size_t own_count(void) {
    return (size_t)mesh.forest->local_num_quadrants;
}

void make_blocks(p8est_connectivity_t *cube) {
    mesh.forest =
        p8est_new_ext(MPI_COMM_WORLD, cube, 0, COARSEST, 1, sizeof(double) * values(), begin, NULL);
}

void adapt_blocks(void) {
    mesh.changed = 0;
    p8est_refine_ext(mesh.forest, 0, mesh.finest, should_refine, NULL, replace);
    p8est_coarsen_ext(mesh.forest, 0, 0, should_coarsen, NULL, replace);
    p8est_balance_ext(mesh.forest, P8EST_CONNECT_FULL, NULL, replace);
}

void find_ghosts(void) {
    if (mesh.ghost != NULL)
        p8est_ghost_destroy(mesh.ghost);
    mesh.ghost = p8est_ghost_new(mesh.forest, P8EST_CONNECT_FULL);
    const size_t bytes = sizeof(double) * values();
    mesh.ghost_cells = realloc(mesh.ghost_cells, bytes * (mesh.ghost->ghosts.elem_count + 1));
    mesh.change = realloc(mesh.change, bytes * (own_count() + 1));
    if (mesh.ghost_cells == NULL || mesh.change == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

// ---- a stage

// The cells on the two sides of a face: `one` gains what `other`, of as many times its volume,
// loses.
static void flow(const double *one, double *one_change, const double *other, double *other_change,
                 double volumes) {
    const double amount = kDiffusion * (*other - *one);
    if (one_change != NULL)
        *one_change += amount;
    if (other_change != NULL)
        *other_change -= amount / volumes;
}

static void inside(p8est_iter_volume_info_t *info, void *unused) {
    (void)unused;
    const double *cells = info->quad->p.user_data;
    double *mine = mesh.change + (size_t)info->quadid * values();
    for (int i = 0; i < mesh.variables * CELLS; ++i)
        for (int d = 0; d < 3; ++d)
            if (i / kStride[d] % EDGE + 1 < EDGE)
                flow(cells + i, mine + i, cells + i + kStride[d], mine + i + kStride[d], 1);
}

// The cells of a block, and their mesh.change where the block is this rank's.
static const double *block_cells(int is_ghost, const p8est_quadrant_t *block, p4est_locidx_t id,
                                 double **its_change) {
    const size_t at = (size_t)id * values();
    *its_change = is_ghost ? NULL : mesh.change + at;
    return is_ghost ? mesh.ghost_cells + at : block->p.user_data;
}

// Cell (a, b) on a face of a block, in the directions across the face.
static int on_face(int face, int a, int b) {
    const int d = face / 2, across = d == 0 ? 1 : 0, up = d == 2 ? 1 : 2;
    return (face & 1 ? EDGE - 1 : 0) * kStride[d] + a * kStride[across] + b * kStride[up];
}

static void between(p8est_iter_face_info_t *info, void *unused) {
    (void)unused;
    if (info->sides.elem_count < 2) // nothing flows out of the cube
        return;
    p8est_iter_face_side_t *side = (p8est_iter_face_side_t *)info->sides.array;
    const int first = side[1].is_hanging ? 1 : 0; // the side that has small blocks, if one has
    p8est_iter_face_side_t *one = side + first, *other = side + 1 - first;
    double *one_change, *other_change;
    const double *far = block_cells(other->is.full.is_ghost, other->is.full.quad,
                                    other->is.full.quadid, &other_change);
    for (int part = 0; part < (one->is_hanging ? 4 : 1); ++part) {
        const double *near =
            one->is_hanging
                ? block_cells(one->is.hanging.is_ghost[part], one->is.hanging.quad[part],
                              one->is.hanging.quadid[part], &one_change)
                : block_cells(one->is.full.is_ghost, one->is.full.quad, one->is.full.quadid,
                              &one_change);
        for (int variable = 0; variable < mesh.variables; ++variable)
            for (int b = 0; b < EDGE; ++b)
                for (int a = 0; a < EDGE; ++a) {
                    // Four small cells touch one large cell: (a, b) of the part that lies
                    // right in direction a touches (2 + a / 2, ...).
                    const int coarse_a = one->is_hanging ? (a + EDGE * (part & 1)) / 2 : a;
                    const int coarse_b = one->is_hanging ? (b + EDGE * (part >> 1)) / 2 : b;
                    const int i = variable * CELLS + on_face(one->face, a, b);
                    const int k = variable * CELLS + on_face(other->face, coarse_a, coarse_b);
                    flow(near + i, one_change ? one_change + i : NULL, far + k,
                         other_change ? other_change + k : NULL, one->is_hanging ? 8 : 1);
                }
    }
}

void run_stage(void) {
    p8est_ghost_exchange_data(mesh.forest, mesh.ghost, mesh.ghost_cells);
    memset(mesh.change, 0, sizeof(double) * own_count() * values());
    p8est_iterate(mesh.forest, mesh.ghost, NULL, inside, between, NULL, NULL);
    const double *next = mesh.change;
    for (size_t block = 0; block < own_count(); ++block) {
        double *cells = own_block(block)->p.user_data;
        for (int i = 0; i < mesh.variables * CELLS; ++i)
            cells[i] += *next++;
    }
}
