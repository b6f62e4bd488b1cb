/* SPDX-License-Identifier: BSD-3-Clause */
/* Every predefined datatype with every operation that MPI allows for it, which this program does
 * again in C.  What a library does not have (Fortran's types, where it has no Fortran) is left out
 * and said. */
#include "parts.h"

#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

typedef enum Op { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC } Op;
enum { OPS = MAXLOC + 1 };

/* What an element is made of: the second number is the imaginary part, or the place. */
typedef struct Value {
    int a, b;
} Value;

/* A type of C. */
typedef struct Access {
    size_t bytes;
    void (*put)(void *at, Value value);
    void (*combine)(Op op, const void *in, void *inout);
    bool (*same)(const void *left, const void *right);
} Access;

#define ACCESS(name, T)                                                                            \
    static bool name##_same(const void *left, const void *right) {                                 \
        return *(const T *)left == *(const T *)right;                                              \
    }                                                                                              \
    static const Access name = {sizeof(T), name##_put, name##_combine, name##_same};

#define NUMBER(name, T)                                                                            \
    static void name##_put(void *at, Value value) {                                                \
        *(T *)at = (T)value.a;                                                                     \
    }

#define INTEGER(name, T)                                                                           \
    NUMBER(name, T)                                                                                \
    static void name##_combine(Op op, const void *in, void *inout) {                               \
        const T x = *(const T *)in, y = *(T *)inout;                                               \
        const T all[] = {(T)(x + y),  (T)(x * y),  (T)(x > y ? x : y), (T)(x < y ? x : y),         \
                         (T)(x && y), (T)(x || y), (T)(!x != !y),      (T)(x & y),                 \
                         (T)(x | y),  (T)(x ^ y)};                                                 \
        *(T *)inout = all[op];                                                                     \
    }                                                                                              \
    ACCESS(name, T)

#define FLOATING(name, T)                                                                          \
    NUMBER(name, T)                                                                                \
    static void name##_combine(Op op, const void *in, void *inout) {                               \
        const T x = *(const T *)in, y = *(T *)inout;                                               \
        const T all[] = {x + y, x * y, x > y ? x : y, x < y ? x : y};                              \
        *(T *)inout = all[op];                                                                     \
    }                                                                                              \
    ACCESS(name, T)

#define COMPLEX(name, T)                                                                           \
    static void name##_put(void *at, Value value) {                                                \
        *(T *)at = (T)(value.a + value.b * I);                                                     \
    }                                                                                              \
    static void name##_combine(Op op, const void *in, void *inout) {                               \
        const T x = *(const T *)in, y = *(T *)inout;                                               \
        *(T *)inout = op == SUM ? x + y : x * y;                                                   \
    }                                                                                              \
    ACCESS(name, T)

/* Of equal values the smaller place is taken. */
#define PAIR(name, T, Place)                                                                       \
    typedef struct name##_pair {                                                                   \
        T value;                                                                                   \
        Place place;                                                                               \
    } name##_pair;                                                                                 \
    static void name##_put(void *at, Value value) {                                                \
        *(name##_pair *)at = (name##_pair){(T)value.a, (Place)value.b};                            \
    }                                                                                              \
    static void name##_combine(Op op, const void *in, void *inout) {                               \
        const name##_pair x = *(const name##_pair *)in;                                            \
        name##_pair *const y = inout;                                                              \
        const bool better = op == MAXLOC ? x.value > y->value : x.value < y->value;                \
        if (better || (x.value == y->value && x.place < y->place))                                 \
            *y = x;                                                                                \
    }                                                                                              \
    static bool name##_same(const void *left, const void *right) {                                 \
        const name##_pair *const x = left, *const y = right;                                       \
        return x->value == y->value && x->place == y->place;                                       \
    }                                                                                              \
    static const Access name = {sizeof(name##_pair), name##_put, name##_combine, name##_same};

INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)
INTEGER(u8, uint8_t)
INTEGER(u16, uint16_t)
INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
FLOATING(f32, float)
FLOATING(f64, double)
FLOATING(f80, long double)
COMPLEX(c32, float complex)
COMPLEX(c64, double complex)
COMPLEX(c80, long double complex)
PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_int, long, int)
PAIR(short_int, short, int)
PAIR(int_int, int, int)
PAIR(f80_int, long double, int)
PAIR(float_float, float, float)
PAIR(double_double, double, double)

#define BIT(op) (1u << (op))
enum {
    ARITHMETIC = BIT(SUM) | BIT(PROD),
    ORDERED = ARITHMETIC | BIT(MAX) | BIT(MIN),
    TRUTH = BIT(LAND) | BIT(LOR) | BIT(LXOR),
    BITS = BIT(BAND) | BIT(BOR) | BIT(BXOR),
    PLACES = BIT(MINLOC) | BIT(MAXLOC)
};

typedef struct Type {
    const char *name;
    MPI_Datatype handle;
    const Access *access;
    unsigned ops;
} Type;

/* MPI_OFFSET has a sign, of which some of Open MPI's operations know nothing: signs.c. */
static bool is_unsigned(const Type *type) {
    const Access *const access = type->access;
    return access == &u8 || access == &u16 || access == &u32 || access == &u64 ||
           type->handle == MPI_OFFSET;
}

/* Sums and products of up to eight stay in range (Open MPI's saturate); both truths come about;
 * places are tied now and then. */
static Value element(const Type *type, Op op, int rank, size_t index) {
    const int k = (int)((size_t)rank * 5 + index * 3);
    if ((BIT(op) & TRUTH) != 0)
        return (Value){k % 8 == 0 && index % 3 != 0 ? 0 : type->ops == TRUTH ? 1 : k % 7 + 1, 0};
    if ((type->ops & PLACES) != 0)
        return (Value){k % 5 - 2, (int)((size_t)rank * 11 + index) % 13};
    const int a = op == PROD ? (k % 3 == 0 ? 2 : k % 7 == 0 ? -1 : 1) : k % 23 - 11;
    return (Value){is_unsigned(type) && a < 0 ? -a : a, k % 9 == 0};
}

static void fill_elements(const Type *type, Op op, int rank, size_t first, size_t n, char *at) {
    for (size_t i = 0; i < n; ++i)
        type->access->put(at + i * type->access->bytes, element(type, op, rank, first + i));
}

/* What all ranks' elements from `first` on make together. */
static void check_result(const Type *type, Op op, int ranks, size_t first, size_t n,
                         const char *at) {
    const Access *const access = type->access;
    size_t wrong = 0;
    for (size_t i = 0; i < n; ++i) {
        _Alignas(16) char all[32], one[32];
        access->put(all, element(type, op, 0, first + i));
        for (int rank = 1; rank < ranks; ++rank) {
            access->put(one, element(type, op, rank, first + i));
            access->combine(op, one, all);
        }
        if (!access->same(all, at + i * access->bytes) && wrong++ == 0)
            fprintf(stderr, "%s of %d: element %zu of %zu, operation %d\n", type->name, ranks, i, n,
                    op);
    }
    CHECK(wrong == 0);
}

static void try_both(const Ranks *of, const Type *type, Op op, MPI_Op handle) {
    enum { FEW = 13, MANY = 700, EACH = 3 };
    const size_t bytes = type->access->bytes, ranks = (size_t)of->size, salt = next_salt();
    const size_t all = EACH * ranks;
    char *const send = guarded((MANY + all) * bytes, 0), *const recv = guarded(MANY * bytes, 0);
    const int root = (int)(salt % ranks);

    fill_elements(type, op, of->rank, salt, FEW, send);
    MPI_Allreduce(send, recv, FEW, type->handle, handle, of->comm);
    check_result(type, op, of->size, salt, FEW, recv);

    poison(recv);
    MPI_Request request;
    MPI_Iallreduce(send, recv, FEW, type->handle, handle, of->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_result(type, op, of->size, salt, FEW, recv);

    fill_elements(type, op, of->rank, salt, MANY, recv);
    MPI_Allreduce(MPI_IN_PLACE, recv, MANY, type->handle, handle, of->comm);
    check_result(type, op, of->size, salt, MANY, recv);

    poison(recv);
    fill_elements(type, op, of->rank, salt, FEW, of->rank == root ? recv : send);
    MPI_Reduce(of->rank == root ? MPI_IN_PLACE : send, recv, FEW, type->handle, handle, root,
               of->comm);
    if (of->rank == root)
        check_result(type, op, of->size, salt, FEW, recv);

    poison(recv);
    fill_elements(type, op, of->rank, salt, all, send);
    MPI_Reduce_scatter_block(send, recv, EACH, type->handle, handle, of->comm);
    check_result(type, op, of->size, salt + EACH * (size_t)of->rank, EACH, recv);
    unguard(send);
    unguard(recv);
}

/* Whether this library has it; it is asked without Stretto. */
static bool has(const Type *type, MPI_Op handle) {
    int size = 0;
    _Alignas(16) char in[64] = {0}, inout[64] = {0};
    if (type->handle == MPI_DATATYPE_NULL)
        return false;
    MPI_Errhandler before[2];
    const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int i = 0; i < 2; ++i) {
        MPI_Comm_get_errhandler(comms[i], &before[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    /* The padding of a pair is no part of its size. */
    const bool found = MPI_Type_size(type->handle, &size) == MPI_SUCCESS && size > 0 &&
                       (size_t)size <= type->access->bytes &&
                       ((type->ops & PLACES) != 0 || (size_t)size == type->access->bytes) &&
                       MPI_Reduce_local(in, inout, 1, type->handle, handle) == MPI_SUCCESS;
    for (int i = 0; i < 2; ++i) {
        MPI_Comm_set_errhandler(comms[i], before[i]);
        MPI_Errhandler_free(&before[i]);
    }
    return found;
}

/* What is moved, and never reduced. */
static void moved_only(const Ranks *of) {
    enum { N = 37 };
    char text[N];
    wchar_t wide[N];
    memset(text, 0, sizeof text);
    memset(wide, 0, sizeof wide);
    const int root = of->size - 1;
    for (int i = 0; of->rank == root && i < N; ++i) {
        text[i] = (char)('A' + i);
        wide[i] = (wchar_t)(0x4e00 + i);
    }
    MPI_Bcast(text, N, MPI_CHAR, root, of->comm);
    MPI_Bcast(wide, N, MPI_WCHAR, root, of->comm);
    for (int i = 0; i < N; ++i)
        CHECK(text[i] == 'A' + i && wide[i] == 0x4e00 + i);

    char packed[64];
    int position = 0, number_sent = 41, number_came = 0;
    double half_sent = 0.5, half_came = 0;
    MPI_Pack(&number_sent, 1, MPI_INT, packed, sizeof packed, &position, of->comm);
    MPI_Pack(&half_sent, 1, MPI_DOUBLE, packed, sizeof packed, &position, of->comm);
    if (of->rank != 0)
        memset(packed, 0, sizeof packed);
    MPI_Bcast(packed, position, MPI_PACKED, 0, of->comm);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, &number_came, 1, MPI_INT, of->comm);
    MPI_Unpack(packed, sizeof packed, &position, &half_came, 1, MPI_DOUBLE, of->comm);
    CHECK(number_came == 41 && half_came == 0.5);
}

#define C_TYPE(name, access, ops) {#name, name, &access, ops}

void types(const Ranks *of) {
    const Type all[] = {
        C_TYPE(MPI_SIGNED_CHAR, i8, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UNSIGNED_CHAR, u8, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_SHORT, i16, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UNSIGNED_SHORT, u16, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_INT, i32, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UNSIGNED, u32, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_LONG, i64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UNSIGNED_LONG, u64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_LONG_LONG, i64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_LONG_LONG_INT, i64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UNSIGNED_LONG_LONG, u64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_INT8_T, i8, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_INT16_T, i16, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_INT32_T, i32, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_INT64_T, i64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UINT8_T, u8, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UINT16_T, u16, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UINT32_T, u32, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_UINT64_T, u64, ORDERED | TRUTH | BITS),
        C_TYPE(MPI_AINT, i64, ORDERED | BITS),
        C_TYPE(MPI_OFFSET, i64, ORDERED | BITS),
        C_TYPE(MPI_COUNT, i64, ORDERED | BITS),
        C_TYPE(MPI_BYTE, u8, BITS),
        C_TYPE(MPI_FLOAT, f32, ORDERED),
        C_TYPE(MPI_DOUBLE, f64, ORDERED),
        C_TYPE(MPI_LONG_DOUBLE, f80, ORDERED),
        C_TYPE(MPI_C_BOOL, u8, TRUTH),
        C_TYPE(MPI_C_COMPLEX, c32, ARITHMETIC),
        C_TYPE(MPI_C_FLOAT_COMPLEX, c32, ARITHMETIC),
        C_TYPE(MPI_C_DOUBLE_COMPLEX, c64, ARITHMETIC),
        C_TYPE(MPI_C_LONG_DOUBLE_COMPLEX, c80, ARITHMETIC),
        C_TYPE(MPI_CXX_BOOL, u8, TRUTH),
        C_TYPE(MPI_CXX_FLOAT_COMPLEX, c32, ARITHMETIC),
        C_TYPE(MPI_CXX_DOUBLE_COMPLEX, c64, ARITHMETIC),
        C_TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, c80, ARITHMETIC),
        C_TYPE(MPI_FLOAT_INT, float_int, PLACES),
        C_TYPE(MPI_DOUBLE_INT, double_int, PLACES),
        C_TYPE(MPI_LONG_INT, long_int, PLACES),
        C_TYPE(MPI_SHORT_INT, short_int, PLACES),
        C_TYPE(MPI_2INT, int_int, PLACES),
        C_TYPE(MPI_LONG_DOUBLE_INT, f80_int, PLACES),
        C_TYPE(MPI_LOGICAL, i32, TRUTH),
        C_TYPE(MPI_INTEGER, i32, ORDERED | BITS),
        C_TYPE(MPI_INTEGER1, i8, ORDERED | BITS),
        C_TYPE(MPI_INTEGER2, i16, ORDERED | BITS),
        C_TYPE(MPI_INTEGER4, i32, ORDERED | BITS),
        C_TYPE(MPI_INTEGER8, i64, ORDERED | BITS),
        C_TYPE(MPI_REAL, f32, ORDERED),
        C_TYPE(MPI_REAL4, f32, ORDERED),
        C_TYPE(MPI_REAL8, f64, ORDERED),
        C_TYPE(MPI_DOUBLE_PRECISION, f64, ORDERED),
        C_TYPE(MPI_COMPLEX, c32, ARITHMETIC),
        C_TYPE(MPI_COMPLEX8, c32, ARITHMETIC),
        C_TYPE(MPI_COMPLEX16, c64, ARITHMETIC),
        C_TYPE(MPI_DOUBLE_COMPLEX, c64, ARITHMETIC),
        C_TYPE(MPI_2INTEGER, int_int, PLACES),
        C_TYPE(MPI_2REAL, float_float, PLACES),
        C_TYPE(MPI_2DOUBLE_PRECISION, double_double, PLACES),
    };
    const MPI_Op handles[OPS] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_LAND,   MPI_LOR,
                                 MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        unsigned absent = 0;
        for (int op = 0; op < OPS; ++op) {
            if ((all[i].ops & BIT(op)) == 0)
                continue;
            if (has(&all[i], handles[op]))
                try_both(of, &all[i], (Op)op, handles[op]);
            else
                absent |= BIT(op);
        }
        if (absent != 0 && world.rank == 0)
            printf("not in this library: %s, operations %x\n", all[i].name, absent);
    }
    moved_only(of);
}
