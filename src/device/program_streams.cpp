// SPDX-License-Identifier: BSD-3-Clause
#include "device/program_streams.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "device/cuda.hpp"
#include "device/cuda_copies.hpp"
#include "device/cuda_executor.hpp"
#include "device/devices.hpp"

namespace stretto::device {

constexpr std::uintptr_t kLegacyStream = 1, kLastDefaultStream = 2;

bool is_default(const void *stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= kLastDefaultStream;
}

void check_stream(const Cuda &driver, CUresult result, const char *call) {
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_CONTEXT ||
        result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        throw Error(Status::argument,
                    std::string(cuda_error(driver, result, call).what()) +
                        "; the stream, or its context, was destroyed or is none of this process");
    check_cuda(driver, result, call);
}

CUcontext context_of_stream(const Cuda &driver, const void *memory, CUstream stream) {
    if (is_default(stream) || driver.stream_context == nullptr)
        return context_of(driver, place_of(memory));
    CUcontext context = nullptr;
    check_stream(driver, driver.stream_context(stream, &context), "cuStreamGetCtx");
    return context;
}

void require_no_capture(const Cuda &driver, CUstream stream) {
    if (driver.is_capturing == nullptr)
        return;
    int capturing = 0;
    const CUresult result = driver.is_capturing(stream, &capturing);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        throw Error(Status::unsupported,
                    "another stream is being captured into a CUDA graph, and the legacy default "
                    "stream waits for it; give another stream here, capture one that was made with "
                    "cudaStreamNonBlocking, or make the call after cudaStreamEndCapture");
    check_stream(driver, result, "cuStreamIsCapturing");
    if (capturing != 0)
        throw Error(Status::unsupported,
                    "the stream is being captured into a CUDA graph, and a graph cannot hold a "
                    "collective; make the call before cudaStreamBeginCapture or after "
                    "cudaStreamEndCapture");
}

bool default_waits_for(const Cuda &driver, CUstream stream) {
    unsigned flags = 0;
    if (is_default(stream))
        return true;
    check_stream(driver, driver.stream_flags(stream, &flags), "cuStreamGetFlags");
    return (flags & CU_STREAM_NON_BLOCKING) == 0;
}

void wait_for_stream(const void *memory, void *stream) {
    look_for_devices(); // the driver may have been loaded since the communicator was made
    if (!find_cuda())
        throw Error(Status::unsupported, "there is a stream to wait for, but this process has not "
                                         "loaded the CUDA driver (libcuda.so.1)");
    const Cuda &driver = *cuda();
    const auto handle = static_cast<CUstream>(stream);
    const Current current(driver, context_of_stream(driver, memory, handle));
    require_no_capture(driver, handle);
    check_stream(driver, driver.synchronize(handle),
                 "waiting for a stream of the program (cuStreamSynchronize)");
}

void DefaultStreams::wait_for(const void *memory) {
    const Cuda &driver = *cuda();
    const CUcontext context = context_of(driver, place_of(memory));
    if (context == std::exchange(last_, context) ||
        cuda_executor().waiting_streams().hold_default())
        return;
    const Current current(driver, context);
    auto *const legacy = reinterpret_cast<CUstream>(kLegacyStream);
    int capturing = 0;
    if (driver.is_capturing != nullptr) {
        const CUresult result = driver.is_capturing(legacy, &capturing);
        if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || capturing != 0)
            return;
        check_cuda(driver, result, "cuStreamIsCapturing");
    }
    // Few calls find work there, and then the driver does not wait.
    CUresult result = driver.query_stream(legacy);
    if (result == CUDA_ERROR_NOT_READY)
        result = driver.synchronize(legacy);
    check_cuda(driver, result, "the program's work in CUDA's default stream (cuStreamSynchronize)");
}

} // namespace stretto::device
