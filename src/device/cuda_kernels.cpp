// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
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

bool CudaKernels::unknown(const engine::Kernel &kernel) const {
    return state_ != State::none && !functions_.contains(key(kernel));
}

void CudaKernels::load(const engine::Kernel &kernel) noexcept {
    if (!load_module() || functions_.contains(key(kernel)))
        return;
    try {
        const std::string name = pass_kernel(kernel.dtype, kernel.op, kernel.rounding);
        CUfunction &function = functions_[key(kernel)];
        if (!name.empty())
            check_cuda(driver_, driver_.function_of(&function, module_, name.c_str()),
                       ("cuModuleGetFunction of " + name).c_str());
    } catch (const std::exception &error) {
        warn_once(error.what());
    }
}

void CudaKernels::load_all() noexcept {
    for (int dtype = 0; dtype < kDtypes; ++dtype)
        for (int op = 0; op < kBuiltInOps; ++op)
            for (const auto rounding : {reduce::Rounding::once, reduce::Rounding::each})
                if (supports(static_cast<Dtype>(dtype), static_cast<ReduceOp>(op)))
                    load({true, static_cast<Dtype>(dtype), static_cast<ReduceOp>(op), rounding});
}

CUfunction CudaKernels::find(const engine::Kernel &kernel) const {
    const auto found = functions_.find(key(kernel));
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
    void *arguments[] = {&pass};
    check_cuda(driver_,
               driver_.launch(function, blocks_for(bytes), 1, 1, kBlockThreads, 1, 1, 0, stream,
                              arguments, nullptr),
               "cuLaunchKernel of a reduction");
}

} // namespace stretto::device
