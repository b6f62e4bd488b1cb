/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the highest bit is a sign and where not.  Apart from the other types: Open MPI's own
 * operations on long vectors take MPI_OFFSET for unsigned and unsigned integers for signed ones. */
#include "check.h"

#include <stdint.h>

enum { N = 35 };

#define TRY(T, type, low, high)                                                                    \
    do {                                                                                           \
        T mine[N], most[N], least[N];                                                              \
        for (int i = 0; i < N; ++i)                                                                \
            mine[i] = (T)(i % world.size == world.rank ? (high) - (T)i : (low) + (T)i);            \
        MPI_Allreduce(mine, most, N, type, MPI_MAX, MPI_COMM_WORLD);                               \
        MPI_Allreduce(mine, least, N, type, MPI_MIN, MPI_COMM_WORLD);                              \
        for (int i = 0; i < N; ++i)                                                                \
            CHECK(most[i] == (T)((high) - (T)i) && least[i] == (T)((low) + (T)i));                 \
    } while (0)

int main(int argc, char **argv) {
    start(&argc, &argv);
    TRY(unsigned char, MPI_UNSIGNED_CHAR, 0, UINT8_MAX);
    TRY(unsigned short, MPI_UNSIGNED_SHORT, 0, UINT16_MAX);
    TRY(unsigned, MPI_UNSIGNED, 0, UINT32_MAX);
    TRY(unsigned long, MPI_UNSIGNED_LONG, 0, UINT64_MAX);
    TRY(unsigned long long, MPI_UNSIGNED_LONG_LONG, 0, UINT64_MAX);
    TRY(uint8_t, MPI_UINT8_T, 0, UINT8_MAX);
    TRY(uint16_t, MPI_UINT16_T, 0, UINT16_MAX);
    TRY(uint32_t, MPI_UINT32_T, 0, UINT32_MAX);
    TRY(uint64_t, MPI_UINT64_T, 0, UINT64_MAX);
    TRY(signed char, MPI_SIGNED_CHAR, INT8_MIN, -1);
    TRY(short, MPI_SHORT, INT16_MIN, INT16_MAX);
    TRY(int, MPI_INT, INT32_MIN, INT32_MAX);
    TRY(long, MPI_LONG, INT64_MIN, INT64_MAX);
    TRY(int64_t, MPI_INT64_T, INT64_MIN, INT64_MAX);
    TRY(MPI_Aint, MPI_AINT, INT64_MIN, INT64_MAX);
    TRY(MPI_Offset, MPI_OFFSET, INT64_MIN, INT64_MAX);
    TRY(MPI_Count, MPI_COUNT, INT64_MIN, INT64_MAX);
    return finish();
}
