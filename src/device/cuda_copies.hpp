// SPDX-License-Identifier: BSD-3-Clause
// The copy engines of a device and its kernels, as one context uses them.
#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda.hpp"
#include "device/cuda_kernels.hpp"

namespace stretto::device {

// Makes a context current for as long as it lives.  If another thread captures a CUDA graph
// meanwhile, the driver refuses this thread nothing: what it does in the context belongs to no
// graph.
class Current {
public:
    Current(const Cuda &driver, CUcontext context);
    ~Current();
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

private:
    const Cuda &driver_;
    int mode_; // for captures, of the calling thread
};

// Whether a context still is what it was, and not destroyed.
bool alive(const Cuda &driver, const Context &context) noexcept;

// One thread at a time.  Functions throw Error.
class CudaCopies {
public:
    CudaCopies(const Cuda &driver, const Context &context);

    CUcontext context() const { return context_.handle; }
    const Context &identity() const { return context_; }
    CudaKernels &kernels() { return kernels_; }

    // Copies of one way start in this order and end in this order; those of different ways overlap.
    // Kernels go the way `inside`.  The caller makes the context current, here and for mark().
    enum class Way { from_device, to_device, inside };
    CUstream stream(Way way) const { return streams_[static_cast<int>(way)]; }
    void copy(Way way, void *to, const void *from, std::size_t bytes);

    // An event that happens when all copies of this way so far have ended.
    CUevent mark(Way way);
    bool happened(CUevent event);
    void give_back(CUevent event) noexcept { free_events_.push_back(event); }
    // Returns when all copies have ended, if the device still works.  Any thread may call it at any
    // time, and holds no lock that another thread needs to let a stream of the program go on:
    // copies may be behind that stream on the device.
    void settle() noexcept;

private:
    const Cuda &driver_;
    const Context context_;
    CUstream streams_[3] = {nullptr, nullptr, nullptr}; // by way
    CudaKernels kernels_;
    std::vector<CUevent> free_events_;
    std::size_t events_ = 0; // ever created
};

} // namespace stretto::device
