// SPDX-License-Identifier: BSD-3-Clause
// The kernels: reductions and maps of src/reduce, on a device.  Compiled by nvcc to a module
// (cmake/Cuda.cmake), and for tests by the host's compiler (tests/cpp/device/host_kernels.cpp).
#include "device/kernels/passes.inl"

#include "device/kernels/list.inl"

using namespace stretto::device;

#define STRETTO_UNWRAPPED(...) __VA_ARGS__
#define STRETTO_DEFINE_PASS(name, element, operation)                                              \
    extern "C" __global__ void __launch_bounds__(kBlockThreads)                                    \
        stretto_##name(const __grid_constant__ PassArguments arguments) {                          \
        reduce<STRETTO_UNWRAPPED element, operation>(arguments);                                   \
    }
#define STRETTO_DEFINE_MAP(name, function)                                                         \
    extern "C" __global__ void __launch_bounds__(kBlockThreads)                                    \
        stretto_map_##name(const __grid_constant__ MapArguments arguments) {                       \
        STRETTO_UNWRAPPED function(arguments);                                                     \
    }

STRETTO_PASSES(STRETTO_DEFINE_PASS)
STRETTO_MAPS(STRETTO_DEFINE_MAP)
