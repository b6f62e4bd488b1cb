// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda_copies.hpp"

#include <cstdint>
#include <string>

namespace stretto::device {

Current::Current(const Cuda &driver, CUcontext context)
    : driver_(driver), mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
    check_cuda(driver, driver.push_context(context), "cuCtxPushCurrent");
    if (driver.exchange_capture_mode != nullptr)
        (void)driver.exchange_capture_mode(&mode_);
}

Current::~Current() {
    if (driver_.exchange_capture_mode != nullptr)
        (void)driver_.exchange_capture_mode(&mode_);
    CUcontext popped = nullptr;
    (void)driver_.pop_context(&popped);
}

bool alive(const Cuda &driver, const Context &context) noexcept {
    try {
        const Current current(driver, context.handle);
        return identified(driver, context.handle) == context;
    } catch (const Error &) {
        return false;
    }
}

// The streams do not wait for the default stream: it may hold work of the program that waits for
// this call.
CudaCopies::CudaCopies(const Cuda &driver, const Context &context)
    : driver_(driver), context_(context), kernels_(driver) {
    const Current current(driver, context.handle);
    for (CUstream &stream : streams_)
        check_cuda(driver, driver.create_stream(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void CudaCopies::copy(Way way, void *to, const void *from, std::size_t bytes) {
    const CUresult result = driver_.copy_async(reinterpret_cast<std::uintptr_t>(to),
                                               reinterpret_cast<std::uintptr_t>(from), bytes,
                                               streams_[static_cast<int>(way)]);
    if (result != CUDA_SUCCESS)
        throw cuda_error(driver_, result,
                         "cuMemcpyAsync of " + std::to_string(bytes) + " bytes " +
                             (way == Way::from_device ? "from" : "to") + " the device");
}

CUevent CudaCopies::mark(Way way) {
    CUevent event = nullptr;
    if (free_events_.empty()) {
        free_events_.reserve(++events_); // give_back() allocates nothing
        check_cuda(driver_, driver_.create_event(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    } else {
        event = free_events_.back();
        free_events_.pop_back();
    }
    try {
        check_cuda(driver_, driver_.record(event, streams_[static_cast<int>(way)]),
                   "cuEventRecord");
    } catch (...) {
        give_back(event);
        throw;
    }
    return event;
}

bool CudaCopies::happened(CUevent event) {
    const Current current(driver_, context_.handle);
    const CUresult result = driver_.query(event);
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    check_cuda(driver_, result, "a copy or reduction of the device (cuEventQuery)");
    return true;
}

void CudaCopies::settle() noexcept {
    try {
        const Current current(driver_, context_.handle);
        for (CUstream const stream : streams_)
            (void)driver_.synchronize(stream);
    } catch (const Error &) { // the context is gone, and with it its copies
    }
}

} // namespace stretto::device
