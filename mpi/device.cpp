// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <string>
#include <unistd.h>

#include "failure.hpp"

namespace stretto::mpi::device {

namespace {

// CUDA's driver, by the numbers of its interface, which do not change.
using Address = std::uintptr_t;
constexpr int kContext = 1, kMemoryType = 2, kIsManaged = 8; // CU_POINTER_ATTRIBUTE_...
constexpr unsigned kDeviceMemory = 2;                        // CU_MEMORYTYPE_DEVICE
constexpr const char *kDriver = "libcuda.so.1";

struct Driver {
    int (*attribute)(void *, int, Address) = nullptr;
    int (*copy)(Address, Address, std::size_t) = nullptr;
    int (*push)(void *) = nullptr;
    int (*pop)(void **) = nullptr;
};

std::atomic<const Driver *> driver{nullptr};

const Driver *load() {
    void *const library = dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr)
        return nullptr;
    static const Driver found = [&] {
        const auto function = [&](const char *name) { return dlsym(library, name); };
        return Driver{
            reinterpret_cast<decltype(Driver::attribute)>(function("cuPointerGetAttribute")),
            reinterpret_cast<decltype(Driver::copy)>(function("cuMemcpy")),
            reinterpret_cast<decltype(Driver::push)>(function("cuCtxPushCurrent_v2")),
            reinterpret_cast<decltype(Driver::pop)>(function("cuCtxPopCurrent_v2"))};
    }();
    if (found.attribute == nullptr || found.copy == nullptr)
        return nullptr;
    driver.store(&found, std::memory_order_release);
    return &found;
}

// Looks in the libraries that the process has loaded so far.
unsigned long long loaded_so_far() {
    unsigned long long count = 0;
    (void)dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *to) {
            *static_cast<unsigned long long *>(to) = info->dlpi_adds;
            return 1;
        },
        &count);
    return count;
}

const Driver *find() {
    if (const Driver *found = driver.load(std::memory_order_acquire))
        return found;
    // The program may load the driver at any time.
    static std::atomic<unsigned long long> looked{0};
    const unsigned long long now = loaded_so_far();
    if (looked.load(std::memory_order_relaxed) == now)
        return nullptr;
    looked.store(now, std::memory_order_relaxed);
    return load();
}

} // namespace

void look_for_driver() {
    // NVIDIA's devices, on Linux itself and in a guest of Windows.
    may_exist =
        load() != nullptr || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

bool ask_driver(const void *buffer) {
    const Driver *const cuda = find();
    if (cuda == nullptr || buffer == nullptr)
        return false;
    const auto address = reinterpret_cast<Address>(buffer);
    unsigned kind = 0, managed = 0;
    // For memory that the driver does not know it gives an error.
    return cuda->attribute(&kind, kMemoryType, address) == 0 && kind == kDeviceMemory &&
           (cuda->attribute(&managed, kIsManaged, address) != 0 || managed == 0);
}

void copy(void *to, const void *from, std::size_t bytes) {
    const Driver &cuda = *find();
    const auto target = reinterpret_cast<Address>(to), source = reinterpret_cast<Address>(from);
    int code = cuda.copy(target, source, bytes);
    if (code != 0 && cuda.push != nullptr && cuda.pop != nullptr) {
        // If this thread has no context, it uses the context of the memory.
        void *context = nullptr;
        for (const Address each : {source, target})
            if (context == nullptr && cuda.attribute(&context, kContext, each) != 0)
                context = nullptr;
        if (context != nullptr && cuda.push(context) == 0) {
            code = cuda.copy(target, source, bytes);
            (void)cuda.pop(&context);
        }
    }
    if (code != 0)
        throw Failure(STRETTO_ERR_SYSTEM, "the CUDA driver cannot copy a buffer in device memory "
                                          "(error " +
                                              std::to_string(code) + ")");
}

} // namespace stretto::mpi::device
