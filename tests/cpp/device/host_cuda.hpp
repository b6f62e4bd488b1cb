// SPDX-License-Identifier: BSD-3-Clause
// What nvcc knows and a host's compiler does not, so that it compiles kernels: threads run one
// after another, as kernels have no barrier.
#pragma once

#define __device__
#define __global__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct HostIndex {
    unsigned x = 0;
};

inline thread_local HostIndex threadIdx, blockIdx, blockDim, gridDim;
