/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes that the program makes: ranks that lay the same data out differently, gaps that stay as
 * they are, addresses in place of buffers, elements of nothing. */
#include "parts.h"

#include <stdlib.h>

enum { MOST_PARTS = 3 };

/* How ints lie in memory: int i is part i % parts of element i / parts. */
typedef struct Layout {
    const char *name;
    MPI_Datatype type;
    size_t parts, extent; /* bytes from one element to the next */
    ptrdiff_t at[MOST_PARTS];
} Layout;

enum { PLAIN, DUPLICATE, ROW, GAP, SWAPPED, BEHIND, HOLES, COLUMN, LAYOUTS };

static MPI_Datatype resized(MPI_Datatype of, MPI_Aint lowest, MPI_Aint extent) {
    MPI_Datatype made;
    MPI_Type_create_resized(of, lowest, extent, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&of);
    return made;
}

static Layout make_layout(int kind) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    switch (kind) {
    case PLAIN: return (Layout){"plain", MPI_INT, 1, 4, {0}};
    case DUPLICATE: MPI_Type_dup(MPI_INT, &type); return (Layout){"duplicate", type, 1, 4, {0}};
    case ROW:
        MPI_Type_contiguous(3, MPI_INT, &type);
        MPI_Type_commit(&type);
        return (Layout){"row", type, 3, 12, {0, 4, 8}};
    case GAP:
        MPI_Type_dup(MPI_INT, &type);
        return (Layout){"gap", resized(type, 0, 12), 1, 12, {0}};
    case SWAPPED: {
        const int at[] = {1, 0};
        MPI_Type_create_indexed_block(2, 1, at, MPI_INT, &type);
        return (Layout){"swapped", resized(type, 0, 8), 2, 8, {4, 0}};
    }
    case BEHIND: /* the second part is before the address of the element */
        MPI_Type_create_hvector(2, 1, -8, MPI_INT, &type);
        MPI_Type_commit(&type);
        return (Layout){"behind", type, 2, 12, {0, -8}};
    case HOLES: {
        const int lengths[] = {1, 1};
        const MPI_Aint at[] = {4, 12};
        const MPI_Datatype of[] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, lengths, at, of, &type);
        return (Layout){"holes", resized(type, 0, 20), 2, 20, {4, 12}};
    }
    default: {
        const int sizes[] = {3, 4}, column[] = {3, 1}, first[] = {0, 2};
        MPI_Type_create_subarray(2, sizes, column, first, MPI_ORDER_C, MPI_INT, &type);
        MPI_Type_commit(&type);
        return (Layout){"column", type, 3, 48, {8, 24, 40}};
    }
    }
}

static void free_layout(Layout *layout) {
    if (layout->type != MPI_INT)
        MPI_Type_free(&layout->type);
}

/* Memory for `n` ints, and what it must hold in the end: nothing else may change in it. */
typedef struct Field {
    const Layout *layout;
    size_t n, bytes;
    char *memory, *expected;
} Field;

enum { BEFORE = 16 }; /* bytes, for parts that lie there */

static Field make_field(const Layout *layout, size_t n) {
    Field field = {layout, n, BEFORE + n / layout->parts * layout->extent + BEFORE, NULL, NULL};
    field.memory = guarded(field.bytes, 0);
    field.expected = guarded(field.bytes, 0);
    return field;
}

static void *buffer(const Field *field) {
    return field->memory + BEFORE;
}

static int count(const Field *field) {
    return (int)(field->n / field->layout->parts);
}

static void put_at(const Field *field, char *memory, size_t i, int value) {
    const size_t parts = field->layout->parts;
    put(memory + BEFORE + i / parts * field->layout->extent + field->layout->at[i % parts], 0,
        value);
}

static void end_field(Field *field) {
    const bool as_expected = memcmp(field->memory, field->expected, field->bytes) == 0;
    if (!as_expected)
        fprintf(stderr, "layout %s, %zu ints\n", field->layout->name, field->n);
    CHECK(as_expected);
    unguard(field->memory);
    unguard(field->expected);
}

/* Every rank has another layout, and another one each turn. */
static void bcast(const Ranks *of, const Layout *layouts, size_t n, int turn) {
    const int root = turn % of->size;
    const size_t salt = next_salt();
    Field field = make_field(&layouts[(of->rank + turn) % LAYOUTS], n);
    for (size_t i = 0; i < n; ++i) {
        put_at(&field, field.expected, i, number(root, salt + i));
        if (of->rank == root)
            put_at(&field, field.memory, i, number(root, salt + i));
    }
    MPI_Bcast(buffer(&field), count(&field), field.layout->type, root, of->comm);
    end_field(&field);
}

static void allgather(const Ranks *of, const Layout *layouts, size_t n, int turn, bool in_place) {
    const size_t salt = next_salt(), all = n * (size_t)of->size, mine = n * (size_t)of->rank;
#ifdef I_MPI_VERSION /* its own takes all counts for equal, of what is sent and of what comes */
    const int sent_as = turn, came_as = turn;
#else
    const int sent_as = of->rank + turn, came_as = of->rank + 3 * turn + 1;
#endif
    Field send = make_field(&layouts[sent_as % LAYOUTS], n);
    Field recv = make_field(&layouts[came_as % LAYOUTS], all);
    for (size_t i = 0; i < n; ++i) {
        put_at(&send, send.memory, i, number(of->rank, salt + i));
        put_at(&send, send.expected, i, number(of->rank, salt + i));
        if (in_place)
            put_at(&recv, recv.memory, mine + i, number(of->rank, salt + i));
    }
    for (size_t i = 0; i < all; ++i)
        put_at(&recv, recv.expected, i, number((int)(i / n), salt + i % n));
    const int each = (int)(n / recv.layout->parts);
    MPI_Allgather(in_place ? MPI_IN_PLACE : buffer(&send), in_place ? 0 : count(&send),
                  in_place ? MPI_DATATYPE_NULL : send.layout->type, buffer(&recv), each,
                  recv.layout->type, of->comm);
    end_field(&send);
    end_field(&recv);
}

/* A type of absolute addresses, at MPI_BOTTOM. */
static void anywhere(const Ranks *of) {
    int first[5], second[3];
    memset(first, 0xa5, sizeof first);
    memset(second, 0xa5, sizeof second);
    const size_t salt = next_salt();
    const int root = of->size - 1, lengths[] = {3, 5};
    for (size_t i = 0; of->rank == root && i < 8; ++i)
        *(i < 3 ? &second[i] : &first[i - 3]) = number(root, salt + i);
    MPI_Aint at[2];
    MPI_Get_address(second, &at[0]);
    MPI_Get_address(first, &at[1]);
    MPI_Datatype type;
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 1, type, root, of->comm);
    check_filled(second, 3, root, salt);
    check_filled(first, 5, root, salt + 3);
    MPI_Type_free(&type);
}

/* Elements that have no data, and one that has data but no extent. */
static void nothing(const Ranks *of) {
    MPI_Datatype empty, still;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    char *const data = guarded(8, 0);
    MPI_Bcast(data, 5, empty, 0, of->comm);
    MPI_Allgather(data, 2, empty, data + 4, 2, empty, of->comm);
    MPI_Bcast(NULL, 0, MPI_DOUBLE, of->size - 1, of->comm);
    MPI_Allreduce(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM, of->comm);
    for (int i = 0; i < 8; ++i)
        CHECK((unsigned char)data[i] == 0xa5);
    MPI_Type_create_resized(MPI_INT, 0, 0, &still);
    MPI_Type_commit(&still);
    put(data, 0, of->rank == 0 ? 77 : -1);
    MPI_Bcast(data, 1, still, 0, of->comm);
    CHECK(get(data, 0) == 77 && (unsigned char)data[4] == 0xa5);
    MPI_Type_free(&empty);
    MPI_Type_free(&still);
    unguard(data);
}

void layouts(const Ranks *of) {
    Layout all[LAYOUTS];
    for (int kind = 0; kind < LAYOUTS; ++kind)
        all[kind] = make_layout(kind);
    const size_t counts[] = {6, 66, 3006}; /* whole elements of all layouts */
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
        for (int turn = 0; turn < LAYOUTS; ++turn) {
            bcast(of, all, counts[i], turn);
            allgather(of, all, counts[i], turn, false);
            allgather(of, all, counts[i], turn, true);
        }
    for (int kind = 0; kind < LAYOUTS; ++kind)
        free_layout(&all[kind]);
    anywhere(of);
    nothing(of);
}
