// SPDX-License-Identifier: BSD-3-Clause
#include "host_kernels.hpp"

#include "host_cuda.hpp"

#include "device/kernels/kernels.cu"

namespace host_kernels {

#define STRETTO_LIST_PASS(name, element, operation) {"stretto_" #name, &stretto_##name, nullptr},
#define STRETTO_LIST_MAP(name, function) {"stretto_map_" #name, nullptr, &stretto_map_##name},

const std::vector<Kernel> &all() {
    static const std::vector<Kernel> kernels{STRETTO_PASSES(STRETTO_LIST_PASS)
                                                 STRETTO_MAPS(STRETTO_LIST_MAP)};
    return kernels;
}

const Kernel *find(std::string_view name) {
    for (const Kernel &kernel : all())
        if (kernel.name == name)
            return &kernel;
    return nullptr;
}

void run(const Kernel &kernel, unsigned blocks, unsigned threads, const void *arguments) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
            if (kernel.pass != nullptr)
                kernel.pass(*static_cast<const stretto::device::PassArguments *>(arguments));
            else
                kernel.map(*static_cast<const stretto::device::MapArguments *>(arguments));
}

} // namespace host_kernels
