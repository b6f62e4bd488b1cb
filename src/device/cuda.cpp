// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda.hpp"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

#include <dlfcn.h>
#include <link.h>

#include "base/lazy.hpp"
#include "base/process.hpp"
#include "base/warning.hpp"

namespace stretto::device {

namespace {

constexpr const char *kDriver = "libcuda.so.1";

std::atomic<const Cuda *> usable{nullptr}; // stays as long as the process
std::atomic<bool> refused{false};

// The name of the first function that the driver does not have; null if it has all.
const char *resolve(void *library, Cuda &into) {
    const char *missing = nullptr;
    const auto find = [&](auto &function, const char *name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr && missing == nullptr)
            missing = name;
    };
    find(into.pointer_attributes, "cuPointerGetAttributes");
    find(into.retain_primary, "cuDevicePrimaryCtxRetain");
    find(into.push_context, "cuCtxPushCurrent_v2");
    find(into.pop_context, "cuCtxPopCurrent_v2");
    find(into.current_context, "cuCtxGetCurrent");
    find(into.allocate, "cuMemAlloc_v2");
    find(into.free, "cuMemFree_v2");
    find(into.register_host, "cuMemHostRegister_v2");
    find(into.unregister_host, "cuMemHostUnregister");
    find(into.create_stream, "cuStreamCreate");
    find(into.synchronize, "cuStreamSynchronize");
    find(into.query_stream, "cuStreamQuery");
    find(into.stream_flags, "cuStreamGetFlags");
    find(into.create_event, "cuEventCreate");
    find(into.record, "cuEventRecord");
    find(into.query, "cuEventQuery");
    find(into.copy_async, "cuMemcpyAsync");
    find(into.error_name, "cuGetErrorName");
    find(into.error_text, "cuGetErrorString");
    const char *const needed = missing;
    find(into.context_number, "cuCtxGetId");
    find(into.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    find(into.wait_value, "cuStreamWaitValue32_v2");
    find(into.is_capturing, "cuStreamIsCapturing");
    find(into.stream_context, "cuStreamGetCtx");
    find(into.load_module, "cuModuleLoadData");
    find(into.function_of, "cuModuleGetFunction");
    find(into.load_function, "cuFuncLoad");
    find(into.launch, "cuLaunchKernel");
    find(into.range_of, "cuMemGetAddressRange_v2");
    find(into.get_handle, "cuIpcGetMemHandle");
    find(into.open_handle, "cuIpcOpenMemHandle_v2");
    find(into.close_handle, "cuIpcCloseMemHandle");
    find(into.device_of_context, "cuCtxGetDevice");
    find(into.devices, "cuDeviceGetCount");
    find(into.device_id, "cuDeviceGetUuid_v2");
    find(into.can_access, "cuDeviceCanAccessPeer");
    return needed;
}

} // namespace

// The number of libraries that the process has loaded so far.
static unsigned long long loaded_so_far() {
    unsigned long long loaded = 0;
    (void)dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *to) {
            *static_cast<unsigned long long *>(to) = info->dlpi_adds;
            return 1;
        },
        &loaded);
    return loaded;
}

bool find_cuda() {
    if (usable.load(std::memory_order_acquire) != nullptr)
        return true;
    // How many libraries were loaded at the last look that is over.
    static std::atomic<unsigned long long> looked{0};
    const unsigned long long now = loaded_so_far();
    if (looked.load(std::memory_order_acquire) == now) // perhaps another thread's look
        return usable.load(std::memory_order_acquire) != nullptr;
    void *const library = dlopen(kDriver, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == nullptr) {
        looked.store(now, std::memory_order_release);
        return false;
    }
    // The handle stays open, as the functions are in use.  There is no lock that a fork could leave
    // locked: of threads that look at the same time, the first decides.
    auto functions = std::make_unique<Cuda>();
    if (const char *const missing = resolve(library, *functions)) {
        if (!refused.exchange(true))
            warn(std::string("the CUDA driver of this process has no ") + missing +
                 ", so collectives cannot use device memory; install a newer driver");
        looked.store(now, std::memory_order_release);
        return false;
    }
    const Cuda *none = nullptr;
    if (usable.compare_exchange_strong(none, functions.get(), std::memory_order_acq_rel))
        (void)functions.release();
    return true;
}

const Cuda *cuda() {
    return usable.load(std::memory_order_acquire);
}

Error cuda_error(const Cuda &driver, CUresult result, const std::string &call) {
    const char *name = nullptr, *text = nullptr;
    std::string what = call + ": ";
    if (driver.error_name(result, &name) == CUDA_SUCCESS && name != nullptr)
        what += name;
    else
        what += "CUDA error " + std::to_string(result);
    if (driver.error_text(result, &text) == CUDA_SUCCESS && text != nullptr)
        what.append(" (").append(text).append(")");
    return {result == CUDA_ERROR_OUT_OF_MEMORY ? Status::memory : Status::system, what};
}

void check_cuda(const Cuda &driver, CUresult result, const char *call) {
    if (result != CUDA_SUCCESS)
        throw cuda_error(driver, result, call);
}

Context identified(const Cuda &driver, CUcontext context) {
    Context found{context};
    if (driver.context_number != nullptr)
        check_cuda(driver, driver.context_number(context, &found.number), "cuCtxGetId");
    return found;
}

Place place_of(const void *memory) {
    Place place;
    const Cuda *const driver = cuda();
    if (driver == nullptr || memory == nullptr)
        return place;
    unsigned type = 0;
    int managed = 0, ordinal = 0;
    const int attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                              CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &place.context, &ordinal};
    // Of memory that it does not know it says nothing, without an error.
    if (driver->pointer_attributes(std::size(attributes), attributes, values,
                                   reinterpret_cast<std::uintptr_t>(memory)) != CUDA_SUCCESS)
        return {};
    place.on_device = type == CU_MEMORYTYPE_DEVICE || managed != 0;
    place.ordinal = ordinal;
    return place;
}

// Of each device: retained once, as each time would count.
struct PrimaryContexts {
    ProcessLock mutex;
    std::map<CUdevice, CUcontext> of_device;
};
static constinit Lazy<std::unique_ptr<PrimaryContexts>> primary_contexts;

CUcontext context_of(const Cuda &driver, const Place &place) {
    if (place.context != nullptr)
        return place.context;
    PrimaryContexts &primaries =
        *primary_contexts.get([] { return std::make_unique<PrimaryContexts>(); });
    const std::lock_guard lock(primaries.mutex);
    CUcontext &primary = primaries.of_device[place.ordinal];
    if (primary == nullptr)
        check_cuda(driver, driver.retain_primary(&primary, place.ordinal),
                   "cuDevicePrimaryCtxRetain");
    return primary;
}

} // namespace stretto::device
