// SPDX-License-Identifier: BSD-3-Clause
// The program of `make test-musl`: checks every element of sums of several sizes.
#include <stdio.h>
#include <stdlib.h>

#include <stretto/stretto.h>

static int failed(void) {
    fprintf(stderr, "%s\n", stretto_last_error());
    return 1;
}

int main(void) {
    stretto_comm comm = NULL;
    if (stretto_init(&comm) != STRETTO_OK)
        return failed();
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    for (size_t count = 1; count <= 1u << 20; count *= 32) {
        float *values = malloc(count * sizeof *values);
        if (values == NULL)
            return 1;
        for (size_t i = 0; i < count; ++i)
            values[i] = (float)(rank + (int)(i % 7));
        if (stretto_allreduce(comm, STRETTO_IN_PLACE, values, count, STRETTO_FLOAT32,
                              STRETTO_SUM) != STRETTO_OK)
            return failed();
        for (size_t i = 0; i < count; ++i) {
            const int right = size * (size - 1) / 2 + size * (int)(i % 7);
            if (values[i] != (float)right) {
                fprintf(stderr, "element %zu of %zu is %g, not %d\n", i, count, values[i], right);
                return 2;
            }
        }
        free(values);
    }
    printf("rank %d of %d: all sums are right\n", rank, size);
    return stretto_finalize(&comm) == STRETTO_OK ? 0 : failed();
}
