// SPDX-License-Identifier: BSD-3-Clause
#include "device/shared_memory.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "base/lazy.hpp"

namespace stretto::device {

using transport::DevicePlace;
using transport::SharedAllocation;
using transport::SharedDevice;

static_assert(sizeof(CUipcMemHandle) == sizeof(SharedAllocation::handle));

// Processes in different PID namespaces may have the same number.
static Lazy<std::uint64_t> process_number;

static std::uint64_t this_process() {
    return process_number.get([] {
        std::random_device random;
        return std::uint64_t{random()} << 32 | random();
    });
}

static bool complete(const Cuda &driver) {
    return driver.range_of != nullptr && driver.get_handle != nullptr &&
           driver.open_handle != nullptr && driver.close_handle != nullptr &&
           driver.device_of_context != nullptr && driver.devices != nullptr &&
           driver.device_id != nullptr && driver.can_access != nullptr;
}

static unsigned long long buffer_id(const Cuda &driver, const void *memory) {
    unsigned long long id = 0;
    const int attribute = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    void *value = &id;
    const CUresult result =
        driver.pointer_attributes(1, &attribute, &value, reinterpret_cast<std::uintptr_t>(memory));
    return result == CUDA_SUCCESS ? id : 0;
}

// FNV-1a of its UUID; 0: the driver does not say.
std::uint32_t SharedMemory::hash_of(CUdevice device) {
    std::uint32_t &known = hashes_[device];
    CUuuid id;
    if (known != 0 || driver_.device_id(&id, device) != CUDA_SUCCESS)
        return known;
    std::uint32_t hash = 0x811c9dc5;
    for (const unsigned char byte : id.bytes)
        hash = (hash ^ byte) * 0x01000193;
    return known = hash | 1;
}

bool SharedMemory::announce(SharedDevice &mine) {
    CUdevice own = 0;
    if (!complete(driver_) || driver_.device_of_context(&own) != CUDA_SUCCESS)
        return false;
    const std::uint32_t hash = hash_of(own),
                        announced = mine.device.load(std::memory_order_relaxed);
    if (hash == 0 || announced != 0)
        return hash != 0 && announced == hash;
    int devices = 0;
    if (driver_.devices(&devices) != CUDA_SUCCESS)
        return false;
    mine.reaches[0].store(hash, std::memory_order_release);
    std::size_t known = 1;
    for (CUdevice other = 0; other < devices && known < mine.reaches.size(); ++other) {
        int can = 0;
        if (other != own && driver_.can_access(&can, own, other) == CUDA_SUCCESS && can != 0)
            mine.reaches[known++].store(hash_of(other), std::memory_order_release);
    }
    mine.device.store(hash, std::memory_order_release);
    return true;
}

std::uint64_t SharedMemory::share(SharedDevice &mine, const void *memory, std::size_t bytes,
                                  bool idle, std::optional<unsigned> kept) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver_.range_of(&base, &size, address) != CUDA_SUCCESS || address + bytes > base + size)
        return 0;
    const unsigned long long buffer = buffer_id(driver_, memory);
    if (buffer == 0)
        return 0;
    unsigned slot = 0, room = SharedDevice::kListedAllocations;
    for (; slot < SharedDevice::kListedAllocations; ++slot) {
        const SharedAllocation &each = mine.allocations[slot];
        if (each.bytes != 0 && each.buffer == buffer && each.process == this_process())
            return DevicePlace::of(slot, static_cast<std::int64_t>(address - each.base));
        // Memory at the same addresses: what was there before is gone.
        const bool free = each.bytes == 0 || each.base == base || (idle && slot != kept);
        if (free && (room == SharedDevice::kListedAllocations ||
                     (mine.allocations[room].bytes != 0 && each.bytes == 0)))
            room = slot;
    }
    SharedAllocation fresh{this_process(), base, size, buffer, {}};
    CUipcMemHandle handle;
    if (room == SharedDevice::kListedAllocations ||
        driver_.get_handle(&handle, base) != CUDA_SUCCESS)
        return 0;
    std::memcpy(fresh.handle.data(), &handle, sizeof(handle));
    mine.allocations[room] = fresh;
    return DevicePlace::of(room, static_cast<std::int64_t>(address - base));
}

void *SharedMemory::find(const SharedDevice &its, DevicePlace place, WaitingStreams &waiting) {
    const SharedAllocation &allocation = its.allocations[place.slot()];
    const auto at = [&](CUdeviceptr base) {
        return reinterpret_cast<void *>(
            static_cast<std::uintptr_t>(base + static_cast<CUdeviceptr>(place.distance())));
    };
    if (allocation.process == this_process())
        return at(allocation.base);
    CUcontext context = nullptr;
    check_cuda(driver_, driver_.current_context(&context), "cuCtxGetCurrent");
    const Key key{identified(driver_, context), allocation.process, allocation.buffer};
    if (const auto known = opened_.find(key); known != opened_.end())
        return at(known->second.here);
    Opened opened{0, allocation.base, allocation.bytes};
    waiting.ask_if_none([&] {
        close_overlapping(key, allocation);
        CUipcMemHandle handle;
        std::memcpy(&handle, allocation.handle.data(), sizeof(handle));
        const CUresult result =
            driver_.open_handle(&opened.here, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (result != CUDA_SUCCESS) {
            const Error why =
                cuda_error(driver_, result, "cuIpcOpenMemHandle of another rank's memory");
            throw Error(why.status(), std::string(why.what()) +
                                          "; STRETTO_CUDA_IPC=off takes the way through the host");
        }
    });
    if (opened.here == 0)
        throw Error(Status::unsupported,
                    "its memory is new, and the driver is not asked to open memory while a stream "
                    "of the program waits for a call; let all ranks order their calls by streams, "
                    "or none");
    opened_.emplace(key, opened);
    return at(opened.here);
}

// What lay there before is gone at its owner.
void SharedMemory::close_overlapping(const Key &key, const SharedAllocation &next) {
    std::erase_if(opened_, [&](const auto &each) {
        const auto &[known, opened] = each;
        if (known.process != key.process || known.context != key.context ||
            opened.base >= next.base + next.bytes || next.base >= opened.base + opened.bytes)
            return false;
        (void)driver_.close_handle(opened.here);
        return true;
    });
}

} // namespace stretto::device
