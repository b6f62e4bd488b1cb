// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the module that lies beside the library, as one context has loaded them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>

#include "device/cuda.hpp"
#include "engine/executor.hpp"

namespace stretto::device {

// One thread at a time, with the context current.
class CudaKernels {
public:
    explicit CudaKernels(const Cuda &driver) : driver_(driver) {}

    // Loads all of them.  The driver may answer only when the device has nothing to do.  If there
    // is no module, or if the driver refuses it, which is warned of once in a process, there are
    // none, and the CPU reduces.
    void load_all() noexcept;
    // Whether load() has to ask the driver for this one.
    bool unknown(const engine::Kernel &kernel) const;
    void load(const engine::Kernel &kernel) noexcept;
    // Null if there is none, or if it was not loaded.
    CUfunction find(const engine::Kernel &kernel) const;

    // One pass over so many bytes of each buffer.  Throws Error.
    void launch(CUfunction function, const engine::Kernel &kernel, std::span<void *const> outs,
                std::span<const void *const> ins, std::size_t bytes, CUstream stream);

private:
    using Key = std::tuple<Dtype, ReduceOp, reduce::Rounding>;
    // Averages and premultiplied sums are sums, with maps before or after.
    static Key key(const engine::Kernel &kernel) {
        const bool sums = kernel.op == ReduceOp::avg || kernel.op == ReduceOp::premul_sum;
        return {kernel.dtype, sums ? ReduceOp::sum : kernel.op, kernel.rounding};
    }
    bool load_module() noexcept;

    const Cuda &driver_;
    enum class State { unknown, loaded, none } state_ = State::unknown;
    CUmodule module_ = nullptr;
    std::map<Key, CUfunction> functions_; // null: there is none
};

// Buffers of a pass that a kernel takes.
bool fits_kernel(std::size_t buffers);

} // namespace stretto::device
