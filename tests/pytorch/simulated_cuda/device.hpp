// SPDX-License-Identifier: BSD-3-Clause
// The simulated CUDA driver, as PyTorch's parts here call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "simulated_cuda.hpp"

extern "C" {
int cuDevicePrimaryCtxRetain(const void **context, int number);
int cuCtxGetCurrent(const void **context);
int cuCtxSetCurrent(const void *context);
int cuMemAlloc_v2(unsigned long long *pointer, std::size_t bytes);
int cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuStreamWaitValue32_v2(void *stream, unsigned long long word, std::uint32_t value,
                           unsigned flags);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
}

namespace simulated_torch {

using namespace simulated_cuda;

// As CUDA's runtime does, gives the thread the device's context first.
template<class Call, class... Arguments>
int ask(Call call, Arguments... arguments) {
    const void *context = nullptr;
    cuCtxGetCurrent(&context);
    if (context == nullptr) {
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
    }
    return call(arguments...);
}
template<class Call, class... Arguments>
void require(const char *name, Call call, Arguments... arguments) {
    if (const int error = ask(call, arguments...); error != 0)
        throw std::runtime_error(std::string("simulated CUDA: ") + name + " returned " +
                                 std::to_string(error));
}

// The stream to which this thread gives work; null: the default stream.
inline thread_local void *current_stream = nullptr;

} // namespace simulated_torch
