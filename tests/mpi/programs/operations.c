/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that the program makes.  They see the datatype of the call, elements as the program
 * lays them out, and, unless they commute, ranks in their order. */
#include "parts.h"

#include <stdint.h>

enum { PRIME = 10007, MARGIN = 4, MOST_RANKS = 8 };

/* What the functions must be called with, how often they were, and how often with something else.
 */
static MPI_Datatype expected_type;
static int calls, wrong_types;

static void note_call(const MPI_Datatype *type) {
    ++calls;
    wrong_types += *type != expected_type;
}

/* A 2 x 2 matrix of a rank: products tell the order of their factors. */
typedef struct Matrix {
    int64_t at[4];
} Matrix;

static Matrix matrix_of(int rank, size_t index) {
    return (Matrix){{number(rank, index) % PRIME, 1, rank + 2, (int64_t)(index % 5)}};
}

static Matrix product(Matrix x, Matrix y) {
    return (Matrix){{(x.at[0] * y.at[0] + x.at[1] * y.at[2]) % PRIME,
                     (x.at[0] * y.at[1] + x.at[1] * y.at[3]) % PRIME,
                     (x.at[2] * y.at[0] + x.at[3] * y.at[2]) % PRIME,
                     (x.at[2] * y.at[1] + x.at[3] * y.at[3]) % PRIME}};
}

/* How matrices lie in memory, in numbers of 8 bytes: with gaps, in another order, before the
 * element. */
typedef struct Shape {
    const char *name;
    MPI_Datatype type;
    size_t each, elements; /* matrices of an element, elements of a call */
    ptrdiff_t extent, at[4];
    bool only_whole; /* is not scattered */
} Shape;

static const Shape *shape; /* of the call that is made */

static Matrix load(const int64_t *from, size_t index) {
    Matrix matrix;
    for (int i = 0; i < 4; ++i)
        matrix.at[i] = from[(ptrdiff_t)index * shape->extent + shape->at[i]];
    return matrix;
}

static void store(int64_t *to, size_t index, Matrix matrix) {
    for (int i = 0; i < 4; ++i)
        to[(ptrdiff_t)index * shape->extent + shape->at[i]] = matrix.at[i];
}

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type) {
    note_call(type);
    for (size_t i = 0; i < (size_t)*n * shape->each; ++i)
        store(inout, i, product(load(in, i), load(inout, i)));
}

/* Memory for what all ranks together get. */
typedef struct Room {
    char *memory;
    size_t bytes;
    int64_t *at; /* the first element */
} Room;

static Room make_room(const Ranks *of) {
    Room room;
    const size_t matrices = shape->each * shape->elements * (size_t)of->size;
    room.bytes = (MARGIN + matrices * (size_t)shape->extent + MARGIN) * sizeof(int64_t);
    room.memory = guarded(room.bytes, 0);
    room.at = (int64_t *)room.memory + MARGIN;
    return room;
}

static void fill_room(Room *room, int rank, size_t matrices, size_t first) {
    poison(room->memory);
    for (size_t i = 0; i < matrices; ++i)
        store(room->at, i, matrix_of(rank, first + i));
}

/* The products of all ranks from `first` on, and nothing else. */
static void check_room(const Ranks *of, const Room *room, size_t matrices, size_t first) {
    Room expected = make_room(of);
    for (size_t i = 0; i < matrices; ++i) {
        Matrix all = matrix_of(0, first + i);
        for (int rank = 1; rank < of->size; ++rank)
            all = product(all, matrix_of(rank, first + i));
        store(expected.at, i, all);
    }
    const bool as_expected = memcmp(room->memory, expected.memory, room->bytes) == 0;
    if (!as_expected)
        fprintf(stderr, "matrices that are %s\n", shape->name);
    CHECK(as_expected);
    unguard(expected.memory);
}

static void scatter_matrices(const Ranks *of, Room *send, Room *recv, MPI_Op op, size_t salt) {
    const int n = (int)shape->elements;
    const size_t matrices = shape->each * shape->elements, mine = matrices * (size_t)of->rank;
    poison(recv->memory);
    MPI_Reduce_scatter_block(send->at, recv->at, n, shape->type, op, of->comm);
    check_room(of, recv, matrices, salt + mine);

    int shares[MOST_RANKS], before = 0;
    for (int rank = 0; rank < of->size; ++rank) {
        shares[rank] = rank % 2 == 0 ? n : n - 1;
        before += rank < of->rank ? shares[rank] : 0;
    }
    poison(recv->memory);
    MPI_Reduce_scatter(send->at, recv->at, shares, shape->type, op, of->comm);
    check_room(of, recv, shape->each * (size_t)shares[of->rank],
               salt + shape->each * (size_t)before);
}

/* All calls that reduce, with operands that do not commute. */
static void on_matrices(const Ranks *of) {
    const size_t salt = next_salt();
    const int n = (int)shape->elements;
    const size_t matrices = shape->each * shape->elements;
    Room send = make_room(of), recv = make_room(of);
    MPI_Op op;
    MPI_Op_create(multiply, 0, &op);
    expected_type = shape->type;
    fill_room(&send, of->rank, matrices * (size_t)of->size, salt);

    MPI_Allreduce(send.at, recv.at, n, shape->type, op, of->comm);
    check_room(of, &recv, matrices, salt);

    fill_room(&recv, of->rank, matrices, salt + 1);
    MPI_Allreduce(MPI_IN_PLACE, recv.at, n, shape->type, op, of->comm);
    check_room(of, &recv, matrices, salt + 1);

    for (int root = 0; root < of->size; ++root) {
        poison(recv.memory);
        MPI_Reduce(send.at, recv.at, n, shape->type, op, root, of->comm);
        if (of->rank == root)
            check_room(of, &recv, matrices, salt);
    }

    if (!shape->only_whole)
        scatter_matrices(of, &send, &recv, op, salt);

    /* The operation is freed while the call is under way: MPI keeps it. */
    poison(recv.memory);
    MPI_Request request;
    MPI_Iallreduce(send.at, recv.at, n, shape->type, op, of->comm, &request);
    MPI_Op_free(&op);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_room(of, &recv, matrices, salt);
    unguard(send.memory);
    unguard(recv.memory);
}

/* Commutes, and is none of MPI's: the number that is nearer to 1000, or the smaller of two. */
static int nearer_of(int x, int y) {
    const int left = x < 1000 ? 1000 - x : x - 1000, right = y < 1000 ? 1000 - y : y - 1000;
    return left < right || (left == right && x < y) ? x : y;
}

static void nearer(void *in, void *inout, int *n, MPI_Datatype *type) {
    note_call(type);
    for (size_t i = 0; i < (size_t)*n; ++i)
        put(inout, i, nearer_of(get(in, i), get(inout, i)));
}

static void on_ints(const Ranks *of) {
    const size_t counts[] = {1, 5, 1000, 20011};
    MPI_Op op;
    MPI_Op_create(nearer, 1, &op);
    expected_type = MPI_INT;
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; ++k) {
        const size_t n = counts[k], salt = next_salt();
        char *const send = guarded(n * sizeof(int), 1), *const recv = guarded(n * sizeof(int), 0);
        fill(send, n, of->rank, salt);
        MPI_Allreduce(send, recv, (int)n, MPI_INT, op, of->comm);
        for (size_t i = 0; i < n; ++i) {
            int all = number(0, salt + i);
            for (int rank = 1; rank < of->size; ++rank)
                all = nearer_of(all, number(rank, salt + i));
            CHECK(get(recv, i) == all);
        }
        unguard(send);
        unguard(recv);
    }
    MPI_Op_free(&op);
}

void operations(const Ranks *of) {
    const int order[] = {3, 1, 0, 2};
    const ptrdiff_t word = sizeof(int64_t);
    MPI_Datatype row, rows, long_row, strided, shuffled, behind, spaced;
    MPI_Type_contiguous(4, MPI_INT64_T, &row);
    MPI_Type_contiguous(2, row, &rows);
    MPI_Type_contiguous(4 * 300, MPI_INT64_T, &long_row);
    MPI_Type_vector(4, 1, 2, MPI_INT64_T, &strided);
    MPI_Type_create_indexed_block(4, 1, order, MPI_INT64_T, &shuffled);
    MPI_Type_create_hvector(4, 1, -word, MPI_INT64_T, &behind);
    MPI_Type_create_resized(row, 0, 6 * word, &spaced);
    Shape shapes[] = {
        {"dense", row, 1, 29, 4, {0, 1, 2, 3}, false},
        {"dense in twos", rows, 2, 9, 4, {0, 1, 2, 3}, false},
        {"strided", strided, 1, 29, 7, {0, 2, 4, 6}, false},
        {"shuffled", shuffled, 1, 29, 4, {3, 1, 0, 2}, false},
        {"behind the element", behind, 1, 29, 4, {0, -1, -2, -3}, false},
        /* MPICH 5's own reductions that scatter write beyond what they allocate for it. */
        {"spaced", spaced, 1, 200, 6, {0, 1, 2, 3}, true},
        /* More than the 4 KiB that an operation of Stretto takes. */
        {"long", long_row, 300, 2, 4, {0, 1, 2, 3}, false},
    };
    calls = wrong_types = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        shape = &shapes[i];
        MPI_Type_commit(&shapes[i].type);
        on_matrices(of);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        MPI_Type_free(&shapes[i].type);
    on_ints(of);
    const long long mine = calls;
    long long all = 0;
    sum_by_library(&mine, &all, 1, of->comm);
    CHECK(wrong_types == 0 && (all > 0 || of->size == 1));
}
