// SPDX-License-Identifier: BSD-3-Clause
#include "device/program_memory.hpp"

#include <cstdint>
#include <string>

#include "device/cuda.hpp"
#include "device/cuda_copies.hpp"

namespace stretto::device {

void *allocate(std::size_t bytes, int device) {
    if (!find_cuda())
        throw Error(Status::unsupported, "this process has not loaded the CUDA driver");
    const Cuda &driver = *cuda();
    const Place place{.on_device = true, .context = nullptr, .ordinal = device};
    const Current current(driver, context_of(driver, place));
    CUdeviceptr memory = 0;
    if (const CUresult result = driver.allocate(&memory, bytes); result != CUDA_SUCCESS)
        throw cuda_error(driver, result, "cuMemAlloc of " + std::to_string(bytes) + " bytes");
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(memory));
}

void deallocate(void *memory) noexcept {
    const Cuda *const driver = cuda();
    if (driver == nullptr || memory == nullptr)
        return;
    try {
        const Current current(*driver, context_of(*driver, place_of(memory)));
        (void)driver->free(reinterpret_cast<std::uintptr_t>(memory));
    } catch (const Error &) { // the context is gone
    }
}

} // namespace stretto::device
