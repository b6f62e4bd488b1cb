// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the module that lies beside the library, as one context has loaded them.
#pragma once

#include <map>
#include <optional>
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
    bool unknown(const engine::Kernel &kernel) const { return unknown(key(kernel)); }
    bool unknown(const reduce::ElementMap &map) const { return unknown(key(map)); }
    void load(const engine::Kernel &kernel) noexcept;
    void load(const reduce::ElementMap &map) noexcept;
    // Null if there is none, or if it was not loaded.
    CUfunction find(const engine::Kernel &kernel) const { return find(key(kernel)); }
    CUfunction find(const reduce::ElementMap &map) const { return find(key(map)); }

    // One pass over so many bytes of each buffer.  Throws Error.
    void launch(CUfunction function, const engine::Kernel &kernel, std::span<void *const> outs,
                std::span<const void *const> ins, std::size_t bytes, CUstream stream);
    // Maps so many elements in place.  Throws Error.
    void launch(const reduce::ElementMap &map, void *memory, std::size_t count, CUstream stream);

private:
    // Of a reduction, or of a map.
    using Key = std::tuple<Dtype, std::optional<reduce::Mapping>, ReduceOp, reduce::Rounding>;
    // Averages and premultiplied sums are sums, with maps before or after.
    static Key key(const engine::Kernel &kernel) {
        const bool sums = kernel.op == ReduceOp::avg || kernel.op == ReduceOp::premul_sum;
        return {kernel.dtype, {}, sums ? ReduceOp::sum : kernel.op, kernel.rounding};
    }
    static Key key(const reduce::ElementMap &map) {
        return {map.dtype, map.mapping, ReduceOp::sum, reduce::Rounding::once};
    }
    bool unknown(const Key &key) const {
        return state_ != State::none && !functions_.contains(key);
    }
    CUfunction find(const Key &key) const;
    void load(const Key &key, const std::string &name) noexcept;
    bool load_module() noexcept;
    void start(CUfunction function, void *arguments, std::size_t bytes, CUstream stream,
               const char *what);

    const Cuda &driver_;
    enum class State { unknown, loaded, none } state_ = State::unknown;
    bool all_loaded_ = false;
    CUmodule module_ = nullptr;
    std::map<Key, CUfunction> functions_; // null: there is none
};

// Buffers of a pass that a kernel takes.
bool fits_kernel(std::size_t buffers);

} // namespace stretto::device
