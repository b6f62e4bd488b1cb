// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "base/lazy.hpp"
#include "base/warning.hpp"
#include "device/kernel_names.hpp"

namespace stretto::device {

static constexpr const char *kModule = "stretto_cuda.fatbin";

// Beside the library, or the program that holds it.
static std::string module_path() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(&module_path), &info) == 0)
        return kModule;
    const std::string library = info.dli_fname;
    return library.substr(0, library.rfind('/') + 1) + kModule;
}

// Empty: the package was built where there is no nvcc.
static Lazy<std::vector<char>> module_image;

static const std::vector<char> &image() {
    return module_image.get([] {
        std::ifstream file(module_path(), std::ios::binary);
        return std::vector<char>(std::istreambuf_iterator<char>(file), {});
    });
}

static void warn_once(const std::string &why) {
    static std::atomic<bool> warned{false};
    if (!warned.exchange(true))
        warn("the CPU reduces what is in CUDA memory, as the kernels in " + module_path() +
             " cannot be used: " + why);
}

bool CudaKernels::load_module() noexcept {
    if (state_ != State::unknown)
        return state_ == State::loaded;
    state_ = State::none;
    try {
        if (driver_.load_module == nullptr || driver_.function_of == nullptr ||
            driver_.launch == nullptr || image().empty())
            return false;
        check_cuda(driver_, driver_.load_module(&module_, image().data()), "cuModuleLoadData");
        state_ = State::loaded;
    } catch (const std::exception &error) {
        warn_once(error.what());
    }
    return state_ == State::loaded;
}

void CudaKernels::load(const engine::Kernel &kernel) noexcept {
    load(key(kernel), pass_kernel(kernel.dtype, kernel.op, kernel.rounding));
}

void CudaKernels::load(const reduce::ElementMap &map) noexcept {
    load(key(map), map_kernel(map.mapping, map.dtype));
}

void CudaKernels::load(const Key &key, const std::string &name) noexcept {
    if (!load_module() || functions_.contains(key))
        return;
    try {
        CUfunction &function = functions_[key];
        if (name.empty())
            return;
        check_cuda(driver_, driver_.function_of(&function, module_, name.c_str()),
                   ("cuModuleGetFunction of " + name).c_str());
        // Or the driver does that at the first launch, for which it waits until the device is idle.
        if (driver_.load_function != nullptr)
            check_cuda(driver_, driver_.load_function(function), ("cuFuncLoad of " + name).c_str());
    } catch (const std::exception &error) {
        warn_once(error.what());
    }
}

void CudaKernels::load_all() noexcept {
    if (std::exchange(all_loaded_, true))
        return;
    for (int d = 0; d < kDtypes; ++d) {
        const auto dtype = static_cast<Dtype>(d);
        for (int op = 0; op < kBuiltInOps; ++op)
            for (const auto rounding : {reduce::Rounding::once, reduce::Rounding::each})
                if (supports(dtype, static_cast<ReduceOp>(op)))
                    load(engine::Kernel{true, dtype, static_cast<ReduceOp>(op), rounding});
        for (const auto mapping :
             {reduce::Mapping::multiply, reduce::Mapping::divide, reduce::Mapping::truth})
            load(reduce::ElementMap{mapping, dtype});
    }
}

CUfunction CudaKernels::find(const Key &key) const {
    const auto found = functions_.find(key);
    return found == functions_.end() ? nullptr : found->second;
}

bool fits_kernel(std::size_t buffers) {
    return buffers <= kMostPassPointers;
}

void CudaKernels::launch(CUfunction function, const engine::Kernel &kernel,
                         std::span<void *const> outs, std::span<const void *const> ins,
                         std::size_t bytes, CUstream stream) {
    PassArguments pass;
    pass.bytes = bytes;
    pass.ins = static_cast<std::int32_t>(ins.size());
    pass.outs = static_cast<std::int32_t>(outs.size());
    void **const end = std::transform(ins.begin(), ins.end(), pass.pointers,
                                      [](const void *in) { return const_cast<void *>(in); });
    std::copy(outs.begin(), outs.end(), end);
    pass.layout =
        chunk_layout({pass.pointers, ins.size() + outs.size()}, bytes, size_of(kernel.dtype));
    start(function, &pass, bytes, stream, "cuLaunchKernel of a reduction");
}

void CudaKernels::launch(const reduce::ElementMap &map, void *memory, std::size_t count,
                         CUstream stream) {
    MapArguments arguments{};
    const std::size_t element = size_of(map.dtype);
    arguments.bytes = count * element;
    arguments.in = arguments.out = memory;
    if (map.mapping == reduce::Mapping::divide)
        std::memcpy(&arguments.divisor, map.constant, sizeof(arguments.divisor));
    if (map.mapping == reduce::Mapping::multiply)
        for (std::size_t at = 0; at < kChunkBytes; at += element)
            std::memcpy(arguments.factor + at, map.constant, element);
    arguments.layout = chunk_layout({&memory, 1}, arguments.bytes, element);
    start(find(map), &arguments, arguments.bytes, stream, "cuLaunchKernel of a map");
}

void CudaKernels::start(CUfunction function, void *arguments, std::size_t bytes, CUstream stream,
                        const char *what) {
    check_cuda(driver_,
               driver_.launch(function, blocks_for(bytes), 1, 1, kBlockThreads, 1, 1, 0, stream,
                              &arguments, nullptr),
               what);
}

} // namespace stretto::device
