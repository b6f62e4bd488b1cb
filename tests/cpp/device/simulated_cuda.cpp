// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_cuda.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "simulated_device.hpp"

namespace {

using namespace simulated_cuda;

struct IpcHandle {
    unsigned char bytes[64];
};

// The stream that a handle means: 0 and 1 are the default stream of all threads, 2 this thread's.
// Null if there is none.
// The device keeps streams as long as the process, also those of threads that have ended.
Stream *stream_of(Device &device, Stream *handle) {
    thread_local Stream *own = nullptr;
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    Stream *stream = handle;
    if (number <= 2) {
        Stream *&standing = number == 2 ? own : device.legacy;
        if (standing == nullptr)
            standing = &device.all_streams.emplace_back();
        stream = standing;
        device.streams.insert(stream);
    }
    return device.streams.contains(stream) ? stream : nullptr;
}

thread_local std::vector<const Context *> contexts; // current ones, the last is in use
constexpr int kGlobal = 0, kRelaxed = 2;            // modes of captures
thread_local int capture_mode = kGlobal;

// Whether the driver refuses this thread what may disturb the capture of another.
bool disturbs_capture(Device &device) {
    if (capture_mode == kRelaxed || !device.any_captured(false))
        return false;
    ++device.counts.refused_while_capturing;
    return true;
}
Context primary; // of the device

bool has_context() {
    return !contexts.empty() && Device::get().contexts.contains(contexts.back());
}
// The thread's context has made this.
void own(Device &device, const void *made) {
    device.owners[made] = contexts.back();
}

bool fails_now(Device &device) {
    if (device.fail_error == kSuccess ||
        device.counts.copies + device.counts.launches < device.fail_after)
        return false;
    device.error = device.fail_error;
    return true;
}

// The counts and the error of a copy that is about to be issued.
int begin_copy(Device &device, Engine engine, Address to, Address from, std::size_t bytes,
               bool pageable) {
    for (const Address address : {to, from})
        if (device.on_device(address) && !device.allocated(address, bytes))
            return device.error = kIllegalAddress;
    if (fails_now(device))
        return device.error;
    Counts &counts = device.counts;
    ++counts.copies;
    counts.bytes += bytes;
    if (engine == from_device)
        counts.from_device_bytes += bytes;
    if (engine == to_device)
        counts.to_device_bytes += bytes;
    counts.pageable_copies += pageable ? 1 : 0;
    return device.error;
}

} // namespace

extern "C" {

void simulated_cuda_speed(const Speed *speed) {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().speed = *speed;
}
void simulated_cuda_seed(std::uint64_t seed) {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().random.seed(static_cast<std::minstd_rand::result_type>(seed));
}
void simulated_cuda_reset() {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().counts = {};
}
void simulated_cuda_counts(Counts *counts) {
    const std::lock_guard lock(Device::get().mutex);
    *counts = Device::get().counts;
}
void simulated_cuda_fail(std::uint64_t after_copies, int error) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    device.fail_after = device.counts.copies + device.counts.launches + after_copies;
    device.fail_error = error;
    if (error == kSuccess)
        device.error = kSuccess;
}
void simulated_cuda_hold(bool held) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    device.held = held;
    device.changed.notify_all();
}
void simulated_cuda_share_queue(bool shared) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    device.shared_queue = shared;
    device.changed.notify_all();
}
void simulated_cuda_let_free_wait() {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().free_waits = true;
}
void simulated_cuda_limit_pinned(std::size_t bytes) {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().pinned_limit = bytes;
}
void simulated_cuda_capture(void *stream, bool captured) {
    const std::lock_guard lock(Device::get().mutex);
    static_cast<Stream *>(stream)->captured = captured;
}
void simulated_cuda_fail_opening(int error) {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().fail_opening = error;
}
void simulated_cuda_kill_owner() {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().kill_owner = true;
}
void simulated_cuda_without_handles(bool without) {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().without_handles = without;
}
void simulated_cuda_other_device() {
    const std::lock_guard lock(Device::get().mutex);
    Device::get().number = 2;
}
int simulated_cuda_launch(void *stream, void (*function)(void *), void *context) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    Stream *const queue = stream_of(device, static_cast<Stream *>(stream));
    if (queue == nullptr)
        return kInvalidHandle;
    Operation kernel;
    kernel.engine = inside;
    kernel.kernel = [=] { function(context); };
    ++device.counts.launches;
    return device.enqueue(*queue, std::move(kernel));
}
std::uint64_t simulated_cuda_turns() {
    return turns->count.load();
}
void *simulated_cuda_memory(std::uint64_t address) {
    return Device::get().memory(address);
}
std::size_t simulated_cuda_pinned() {
    const std::lock_guard lock(Device::get().mutex);
    return Device::get().pinned_bytes();
}

int cuGetErrorName(int error, const char **name) {
    switch (error) {
    case kSuccess: *name = "CUDA_SUCCESS"; break;
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kInvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case kNotReady: *name = "CUDA_ERROR_NOT_READY"; break;
    case kIllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case kContextDestroyed: *name = "CUDA_ERROR_CONTEXT_IS_DESTROYED"; break;
    case kCaptureUnsupported: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; break;
    case kCaptureImplicit: *name = "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"; break;
    case kAlreadyRegistered: *name = "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"; break;
    case kNotRegistered: *name = "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"; break;
    default: *name = nullptr; return kInvalidValue;
    }
    return kSuccess;
}
int cuGetErrorString(int error, const char **text) {
    *text = error == kIllegalAddress ? "an illegal memory access was encountered"
            : error == kOutOfMemory  ? "out of memory"
                                     : "an error of the simulated driver";
    return kSuccess;
}

int cuInit(unsigned) {
    return kSuccess;
}
int cuCtxSetCurrent(const Context *context) {
    contexts.assign(context != nullptr ? 1 : 0, context);
    return kSuccess;
}
int cuCtxGetCurrent(const Context **context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return kSuccess;
}
int cuCtxGetId(const Context *context, unsigned long long *number) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!device.contexts.contains(context))
        return kContextDestroyed;
    *number = context->number;
    return kSuccess;
}
int cuCtxCreate_v2(Context **context, unsigned, int) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    *context = new Context;
    device.begin_context(*context);
    contexts.push_back(*context);
    return kSuccess;
}
int cuCtxDestroy_v2(Context *context) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!device.contexts.contains(context))
        return kInvalidContext;
    device.end_context(context);
    std::erase(contexts, context);
    return kSuccess;
}
int cuDevicePrimaryCtxRetain(const Context **context, int number) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!device.contexts.contains(&primary))
        device.begin_context(&primary);
    *context = &primary;
    return number == 0 ? kSuccess : kInvalidValue;
}
int cuDevicePrimaryCtxReset_v2(int) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    device.end_context(&primary);
    device.begin_context(&primary);
    return kSuccess;
}
int cuCtxPushCurrent_v2(const Context *context) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!device.contexts.contains(context))
        return kContextDestroyed;
    contexts.push_back(context);
    return kSuccess;
}
int cuCtxPopCurrent_v2(const Context **context) {
    if (contexts.empty())
        return kInvalidContext;
    *context = contexts.back();
    contexts.pop_back();
    return kSuccess;
}

int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, Address pointer) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    const bool ours = device.on_device(pointer) && device.allocated(pointer, 1);
    const bool pinned = !ours && device.is_pinned(reinterpret_cast<std::byte *>(pointer), 1);
    for (unsigned i = 0; i < count; ++i)
        switch (attributes[i]) {
        case 1:
            *static_cast<const Context **>(values[i]) = ours ? device.owner(pointer) : nullptr;
            break;
        case 2: *static_cast<unsigned *>(values[i]) = ours ? 2 : pinned ? 1 : 0; break;
        case 7:
            *static_cast<unsigned long long *>(values[i]) = ours ? device.buffer(pointer) : 0;
            break;
        case 8: *static_cast<int *>(values[i]) = 0; break;
        case 9: *static_cast<int *>(values[i]) = ours ? 0 : -2; break;
        default: return kInvalidValue;
        }
    return kSuccess;
}

int cuMemAlloc_v2(Address *pointer, std::size_t bytes) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    const int result = device.allocate(pointer, bytes);
    if (result == kSuccess)
        own(device, reinterpret_cast<const void *>(*pointer));
    return result;
}
int cuMemFree_v2(Address pointer) {
    Device &device = Device::get();
    std::unique_lock lock(device.mutex);
    if (device.free_waits)
        device.drain_all_alone(lock);
    if (const auto found = device.allocations.find(pointer); found != device.allocations.end())
        device.settle_staged(lock, device.memory(pointer), found->second);
    device.owners.erase(reinterpret_cast<const void *>(pointer));
    device.forget_buffer(pointer);
    return device.allocations.erase(pointer) == 1 ? kSuccess : kInvalidValue;
}

int cuMemHostAlloc(void **memory, std::size_t bytes, unsigned) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    if (disturbs_capture(device))
        return kCaptureUnsupported;
    device.note_request();
    if (!device.room_to_pin(bytes))
        return kOutOfMemory;
    *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    device.pinned[static_cast<std::byte *>(*memory)] = bytes;
    own(device, *memory);
    ++device.counts.host_allocations;
    return kSuccess;
}
int cuMemFreeHost(void *memory) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (device.pinned.erase(static_cast<std::byte *>(memory)) == 0)
        return kInvalidValue;
    device.owners.erase(memory);
    std::free(memory);
    return kSuccess;
}
int cuMemHostRegister_v2(void *memory, std::size_t bytes, unsigned) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    auto *const first = static_cast<std::byte *>(memory);
    if (!has_context())
        return kInvalidContext;
    if (disturbs_capture(device))
        return kCaptureUnsupported;
    device.note_request();
    if (device.is_pinned(first, 1))
        return kAlreadyRegistered;
    if (!device.room_to_pin(bytes))
        return kOutOfMemory;
    device.pinned[first] = bytes;
    device.registered.insert(first);
    own(device, first);
    ++device.counts.host_registrations;
    return kSuccess;
}
int cuMemHostUnregister(void *memory) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    auto *const first = static_cast<std::byte *>(memory);
    if (!has_context())
        return kInvalidContext;
    if (disturbs_capture(device))
        return kCaptureUnsupported;
    device.note_request();
    if (device.registered.erase(first) == 0)
        return kNotRegistered;
    device.pinned.erase(first);
    device.owners.erase(first);
    return kSuccess;
}

int cuStreamCreate(Stream **stream, unsigned flags) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    if (disturbs_capture(device))
        return kCaptureUnsupported;
    device.note_request();
    *stream = &device.all_streams.emplace_back();
    (*stream)->blocking = flags == 0;
    device.streams.insert(*stream);
    own(device, *stream);
    ++device.counts.streams;
    return kSuccess;
}
int cuStreamDestroy_v2(Stream *stream) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    device.owners.erase(stream);
    return device.streams.erase(stream) == 1 ? kSuccess : kInvalidHandle;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
    std::swap(*mode, capture_mode);
    return kSuccess;
}
int cuStreamSynchronize(Stream *stream) {
    Device &device = Device::get();
    std::unique_lock lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    Stream *const found = stream_of(device, stream);
    if (found == nullptr)
        return kInvalidHandle;
    if (found->captured || disturbs_capture(device))
        return kCaptureUnsupported;
    ++device.counts.synchronizations;
    device.drain(lock, *found);
    return device.error;
}
int cuStreamQuery(Stream *stream) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    const Stream *const found = stream_of(device, stream);
    if (found == nullptr)
        return kInvalidHandle;
    if (found == device.legacy && device.any_captured(true))
        return kCaptureImplicit;
    if (found->captured || disturbs_capture(device))
        return kCaptureUnsupported;
    if (device.error != kSuccess)
        return device.error;
    return device.is_idle(*found) ? kSuccess : kNotReady;
}
int cuStreamGetFlags(Stream *stream, unsigned *flags) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    const Stream *const found = stream_of(device, stream);
    if (found == nullptr)
        return kInvalidHandle;
    *flags = found->blocking ? 0 : 1;
    return kSuccess;
}
int cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    Operation wait;
    wait.kind = Operation::Kind::wait_event;
    wait.event = event;
    wait.mark = event->recorded;
    Stream *const found = stream_of(device, stream);
    return found != nullptr ? device.enqueue(*found, std::move(wait)) : kInvalidHandle;
}
// Until the word is at least the value, which is the only condition that is simulated.
int cuStreamWaitValue32_v2(Stream *stream, Address word, std::uint32_t value, unsigned flags) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    if (flags != 0 || !device.is_pinned(reinterpret_cast<std::byte *>(word), sizeof(value)))
        return kInvalidValue;
    Operation wait;
    wait.kind = Operation::Kind::wait_value;
    wait.word = reinterpret_cast<const std::atomic<std::uint32_t> *>(word);
    wait.value = value;
    Stream *const found = stream_of(device, stream);
    return found != nullptr ? device.enqueue(*found, std::move(wait)) : kInvalidHandle;
}

int cuStreamIsCapturing(Stream *stream, int *status) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    const Stream *const found = stream_of(device, stream);
    if (found == nullptr)
        return kInvalidHandle;
    if (reinterpret_cast<std::uintptr_t>(stream) <= 1 && device.any_captured(true))
        return kCaptureImplicit;
    *status = found->captured ? 1 : 0;
    return kSuccess;
}
int cuStreamGetCtx(Stream *stream, const Context **context) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (stream_of(device, stream) == nullptr)
        return kInvalidHandle;
    const auto owner = device.owners.find(stream);
    *context = owner != device.owners.end() ? owner->second : &primary;
    return kSuccess;
}

int cuEventCreate(Event **event, unsigned) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    *event = new Event;
    device.events.insert(*event);
    own(device, *event);
    ++device.counts.events;
    return kSuccess;
}
int cuEventRecord(Event *event, Stream *stream) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    if (!device.events.contains(event))
        return kInvalidHandle;
    Operation mark;
    mark.kind = Operation::Kind::record;
    mark.event = event;
    mark.mark = ++event->recorded;
    Stream *const found = stream_of(device, stream);
    return found != nullptr ? device.enqueue(*found, std::move(mark)) : kInvalidHandle;
}
int cuEventQuery(Event *event) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    if (disturbs_capture(device))
        return kCaptureUnsupported;
    if (!device.events.contains(event))
        return kInvalidHandle;
    if (device.error != kSuccess)
        return device.error;
    return event->happened == event->recorded ? kSuccess : kNotReady;
}

int cuMemcpyAsync(Address to, Address from, std::size_t bytes, Stream *stream) {
    Device &device = Device::get();
    std::unique_lock lock(device.mutex);
    device.await_driver(lock);
    if (!has_context())
        return kInvalidContext;
    const bool target = device.on_device(to), source = device.on_device(from);
    Operation copy;
    copy.engine = source ? target ? inside : from_device : to_device;
    copy.to = device.memory(to);
    copy.from = device.memory(from);
    copy.bytes = bytes;
    if ((!target && device.leaves_pinned(copy.to, bytes)) ||
        (!source && device.leaves_pinned(copy.from, bytes)))
        return kInvalidValue;
    const bool pageable = (!target && !device.is_pinned(copy.to, bytes)) ||
                          (!source && !device.is_pinned(copy.from, bytes));
    if (const int error = begin_copy(device, copy.engine, to, from, bytes, pageable);
        error != kSuccess)
        return error;
    if (pageable && copy.engine == to_device)
        copy.staged.assign(copy.from, copy.from + bytes);
    Stream *const queue = stream_of(device, stream);
    if (queue == nullptr)
        return kInvalidHandle;
    const int result = device.enqueue(*queue, std::move(copy));
    if (pageable && !target)
        device.drain(lock, *queue);
    return result;
}

// The kernels are there already, so the module may be a text, or real.
int cuModuleLoadData(const void **module, const void *image) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    constexpr char kText[] = "simulated kernels";
    constexpr std::uint32_t kFatbin = 0xba55ed50; // its first word
    std::uint32_t word = 0;
    std::memcpy(&word, image, sizeof(word));
    if (word != kFatbin &&
        std::strncmp(static_cast<const char *>(image), kText, sizeof(kText) - 1) != 0)
        return kInvalidImage;
    device.note_request();
    *module = image;
    return kSuccess;
}
int cuModuleGetFunction(const host_kernels::Kernel **function, const void *, const char *name) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    device.note_request();
    *function = host_kernels::find(name);
    return *function != nullptr ? kSuccess : kNotFound;
}
int cuFuncLoad(const host_kernels::Kernel *function) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    device.load(contexts.back()->number, function);
    return kSuccess;
}
int cuLaunchKernel(const host_kernels::Kernel *function, unsigned blocks, unsigned, unsigned,
                   unsigned threads, unsigned, unsigned, unsigned, Stream *stream, void **arguments,
                   void **) {
    Device &device = Device::get();
    std::unique_lock lock(device.mutex);
    device.await_driver(lock);
    if (!has_context())
        return kInvalidContext;
    Stream *const queue = stream_of(device, stream);
    if (queue == nullptr)
        return kInvalidHandle;
    if (fails_now(device) || device.error != kSuccess)
        return device.error;
    // Its place in the memory of the simulation; null: the program has no such memory.
    const auto found = [&](const void *pointer, std::size_t bytes) -> std::byte * {
        const auto address = reinterpret_cast<Address>(pointer);
        return device.on_device(address) && device.allocated(address, bytes)
                   ? device.memory(address)
                   : nullptr;
    };
    device.load(contexts.back()->number, function); // lazily, unless that is done
    Operation kernel;
    kernel.engine = inside;
    if (function->pass != nullptr) {
        auto pass = *static_cast<const stretto::device::PassArguments *>(arguments[0]);
        for (int k = 0; k < pass.ins + pass.outs; ++k)
            if ((pass.pointers[k] = found(pass.pointers[k], pass.bytes)) == nullptr)
                return device.error = kIllegalAddress;
        kernel.bytes = pass.bytes * static_cast<std::size_t>(pass.ins + pass.outs);
        kernel.kernel = [=] { host_kernels::run(*function, blocks, threads, &pass); };
    } else {
        auto map = *static_cast<const stretto::device::MapArguments *>(arguments[0]);
        map.out = found(map.out, map.bytes);
        map.in = found(map.in, map.bytes);
        if (map.out == nullptr || map.in == nullptr)
            return device.error = kIllegalAddress;
        kernel.bytes = 2 * map.bytes;
        kernel.kernel = [=] { host_kernels::run(*function, blocks, threads, &map); };
    }
    ++device.counts.launches;
    device.counts.kernel_bytes += kernel.bytes;
    return device.enqueue(*queue, std::move(kernel));
}

int cuMemGetAddressRange_v2(Address *base, std::size_t *bytes, Address pointer) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!device.on_device(pointer) || !device.allocated(pointer, 1))
        return kInvalidValue;
    const auto found = --device.allocations.upper_bound(pointer);
    *base = found->first;
    *bytes = found->second;
    return kSuccess;
}
int cuIpcGetMemHandle(IpcHandle *handle, Address base) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    device.note_request();
    Device::Handle inner{};
    if (!device.get_handle(base, inner))
        return kInvalidValue;
    *handle = {};
    std::memcpy(handle->bytes, &inner, sizeof(inner));
    ++device.counts.handles;
    return kSuccess;
}
int cuIpcOpenMemHandle_v2(Address *base, IpcHandle handle, unsigned) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    if (!has_context())
        return kInvalidContext;
    if (device.fail_opening != kSuccess)
        return device.fail_opening;
    Device::Handle inner{};
    std::memcpy(&inner, handle.bytes, sizeof(inner));
    Device::Opened &opened = device.opened[{
        contexts.back(), std::string(reinterpret_cast<const char *>(handle.bytes), sizeof(inner))}];
    if (opened.times == 0) {
        if (std::exchange(device.kill_owner, false)) {
            kill(inner.process, SIGKILL);
            return kInvalidHandle;
        }
        device.note_request();
        const int result = device.open(inner, opened);
        if (result != kSuccess) {
            device.counts.opened_too_late += result == kInvalidHandle;
            return result;
        }
        own(device, reinterpret_cast<const void *>(opened.range));
    }
    ++opened.times;
    ++device.counts.opened;
    *base = opened.base;
    return kSuccess;
}
int cuIpcCloseMemHandle(Address base) {
    Device &device = Device::get();
    const std::lock_guard lock(device.mutex);
    for (auto &[key, opened] : device.opened)
        if (opened.times != 0 && opened.base == base) {
            device.note_request();
            ++device.counts.closed;
            if (--opened.times == 0)
                device.close(opened);
            return kSuccess;
        }
    return kInvalidValue;
}
int cuCtxGetDevice(int *number) {
    *number = 0;
    return has_context() ? kSuccess : kInvalidContext;
}
int cuDeviceGetCount(int *count) {
    *count = 1;
    return kSuccess;
}
int cuDeviceGetUuid_v2(unsigned char *id, int) {
    const std::lock_guard lock(Device::get().mutex);
    std::memset(id, Device::get().number, 16);
    return kSuccess;
}
int cuDeviceCanAccessPeer(int *can, int, int) {
    *can = 0;
    return kSuccess;
}

// The program's own, in the legacy default stream.
int cuMemcpy(Address to, Address from, std::size_t bytes) {
    Device &device = Device::get();
    std::unique_lock lock(device.mutex);
    const bool target = device.on_device(to), source = device.on_device(from);
    for (const Address address : {to, from})
        if (device.on_device(address) && !device.allocated(address, bytes))
            return kIllegalAddress;
    Stream &legacy = *stream_of(device, nullptr);
    Operation operation;
    operation.to = device.memory(to);
    operation.from = device.memory(from);
    operation.bytes = bytes;
    operation.by_memcpy = true;
    if (target && (source || !device.is_pinned(operation.from, bytes))) { // does not wait for it
        operation.engine = source ? inside : to_device;
        if (!source)
            operation.staged.assign(operation.from, operation.from + bytes);
        return device.enqueue(legacy, std::move(operation));
    }
    Event before;
    Operation mark;
    mark.kind = Operation::Kind::record;
    mark.event = &before;
    mark.mark = ++before.recorded;
    device.enqueue(legacy, std::move(mark));
    device.drain_alone(lock, legacy);
    std::memcpy(operation.to, operation.from, bytes);
    return kSuccess;
}

} // extern "C"
