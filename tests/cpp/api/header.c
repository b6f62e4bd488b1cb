/* SPDX-License-Identifier: BSD-3-Clause */
#include "stretto/stretto.h"

stretto_status sum_of_ranks(stretto_comm comm, float *value);

stretto_status sum_of_ranks(stretto_comm comm, float *value) {
    return stretto_allreduce(comm, STRETTO_IN_PLACE, value, 1, STRETTO_FLOAT32, STRETTO_SUM);
}
