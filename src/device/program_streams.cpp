// SPDX-License-Identifier: BSD-3-Clause
#include "device/program_streams.hpp"

#include "device/cuda.hpp"
#include "device/cuda_copies.hpp"
#include "device/devices.hpp"

namespace stretto::device {

void wait_for_stream(const void *memory, void *stream) {
    look_for_devices(); // the driver may have been loaded since the communicator was made
    if (!find_cuda())
        throw Error(Status::unsupported, "there is a stream to wait for, but this process has not "
                                         "loaded the CUDA driver (libcuda.so.1)");
    const Cuda &driver = *cuda();
    const Current current(driver, context_of(driver, place_of(memory)));
    check_cuda(driver, driver.synchronize(static_cast<CUstream>(stream)),
               "waiting for a stream of the program (cuStreamSynchronize)");
}

} // namespace stretto::device
