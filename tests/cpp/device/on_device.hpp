// SPDX-License-Identifier: BSD-3-Clause
// Buffers of tests on the device: on the simulated one, or with STRETTO_GPU_TESTS on a real one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "support/device_memory.hpp"

// The driver's own functions, which need no header of CUDA.
extern "C" {
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *pointer, std::size_t bytes);
int cuMemFree_v2(unsigned long long pointer);
int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes);
int cuStreamSynchronize(void *stream);
}

namespace test {

// As long as this lives, test::Buffer is on the device.
class OnDevice final : public DeviceMemory {
public:
    // all_or_some: in turns; asked: those of which a test says so; reused: all, and memory that is
    // freed is given out again for as many bytes, as by PyTorch's allocator
    enum class Buffers { all, all_or_some, asked, reused };

    // The context is current for this thread then, and for those that allocate memory.
    explicit OnDevice(Buffers which = Buffers::all) : which_(which) {
        check_cuda(cuInit(0));
        check_cuda(cuDevicePrimaryCtxRetain(&context_, 0));
        check_cuda(cuCtxSetCurrent(context_));
        device_memory = this;
    }
    ~OnDevice() override { device_memory = nullptr; }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    std::byte *allocate(std::size_t bytes, bool asked) override {
        // Ranks ask in an order of chance, so which have device memory differs from call to call.
        constexpr std::uint64_t kTurn = 256;
        const std::uint64_t number = numbers_.fetch_add(1);
        const bool some = which_ == Buffers::all_or_some && number / kTurn % 2 == 1;
        if ((which_ == Buffers::asked && !asked) ||
            (some && number * 0x9e3779b97f4a7c15u >> 63 == 0))
            return nullptr;
        const std::lock_guard lock(mutex_);
        if (const auto unused = free_.find(bytes); unused != free_.end()) {
            std::byte *const memory = unused->second;
            free_.erase(unused);
            return memory;
        }
        unsigned long long pointer = 0;
        check_cuda(cuCtxSetCurrent(context_)); // ranks are threads
        check_cuda(cuMemAlloc_v2(&pointer, bytes));
        if (which_ == Buffers::reused)
            sizes_.emplace(reinterpret_cast<std::byte *>(pointer), bytes);
        return reinterpret_cast<std::byte *>(pointer);
    }
    void free(std::byte *memory) override {
        const std::lock_guard lock(mutex_);
        if (const auto size = sizes_.find(memory); size != sizes_.end()) {
            free_.emplace(size->second, memory);
            return;
        }
        check_cuda(cuCtxSetCurrent(context_));
        check_cuda(cuMemFree_v2(reinterpret_cast<std::uintptr_t>(memory)));
    }
    void copy(std::byte *to, const std::byte *from, std::size_t bytes) override {
        check_cuda(cuCtxSetCurrent(context_));
        check_cuda(cuMemcpy(reinterpret_cast<std::uintptr_t>(to),
                            reinterpret_cast<std::uintptr_t>(from), bytes));
    }
    // Returns when all that was copied there has come, for which calls of the C API wait
    // themselves.
    void settle() {
        check_cuda(cuCtxSetCurrent(context_));
        check_cuda(cuStreamSynchronize(nullptr));
    }

private:
    static void check_cuda(int result) {
        if (result != 0)
            throw std::runtime_error("CUDA error " + std::to_string(result));
    }

    const Buffers which_;
    void *context_ = nullptr;
    std::atomic<std::uint64_t> numbers_{0}; // of buffers so far
    std::mutex mutex_;
    std::map<std::byte *, std::size_t> sizes_; // of what is given out again
    std::multimap<std::size_t, std::byte *> free_;
};

} // namespace test
