// SPDX-License-Identifier: BSD-3-Clause
#include "device/shared_memory.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "base/lazy.hpp"
#include "base/warning.hpp"
#include "device/cuda_copies.hpp"

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

// Whose memory a context of that device reads and writes.
const std::vector<std::uint32_t> &SharedMemory::reached_from(CUdevice own) {
    std::vector<std::uint32_t> &known = reached_[own];
    if (!known.empty())
        return known;
    known.push_back(hash_of(own));
    int devices = 0;
    if (driver_.devices(&devices) != CUDA_SUCCESS)
        return known;
    for (CUdevice other = 0; other < devices && known.size() < SharedDevice::kMostDevices;
         ++other) {
        int can = 0;
        if (other != own && driver_.can_access(&can, own, other) == CUDA_SUCCESS && can != 0)
            known.push_back(hash_of(other));
    }
    return known;
}

bool SharedMemory::announce(SharedDevice &mine) {
    CUdevice own = 0;
    if (!complete(driver_) || driver_.device_of_context(&own) != CUDA_SUCCESS)
        return false;
    const std::uint32_t hash = hash_of(own),
                        announced = mine.device.load(std::memory_order_relaxed);
    if (hash == 0 || announced != 0)
        return hash != 0 && announced == hash;
    const std::vector<std::uint32_t> &reached = reached_from(own);
    for (std::size_t k = 0; k < reached.size(); ++k)
        mine.reaches[k].store(reached[k], std::memory_order_release);
    mine.device.store(hash, std::memory_order_release);
    return true;
}

bool SharedMemory::enter(SharedDevice &mine, CUcontext context, bool idle) {
    const Context now = identified(driver_, context),
                  before{reinterpret_cast<CUcontext>(mine.context), mine.context_number};
    if (now == before)
        return true;
    if (before.handle != nullptr && !idle && alive(driver_, before))
        return false;
    mine.opened.store(0, std::memory_order_release);
    mine.context = reinterpret_cast<std::uintptr_t>(now.handle);
    mine.context_number = now.number;
    return true;
}

// The allocation of a buffer, with a handle.
std::optional<SharedAllocation>
SharedMemory::allocation_of(const void *memory, std::size_t bytes,
                            std::span<engine::SharedLists *const> all, WaitingStreams &waiting) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver_.range_of(&base, &size, address) != CUDA_SUCCESS || address + bytes > base + size)
        return std::nullopt;
    const unsigned long long buffer = buffer_id(driver_, memory);
    if (buffer == 0)
        return std::nullopt;
    if (const auto known = own_.find(base); known != own_.end() && known->second.buffer == buffer)
        return known->second;
    CUipcMemHandle handle;
    bool has_handle = false;
    waiting.ask_if_none([&] { has_handle = driver_.get_handle(&handle, base) == CUDA_SUCCESS; });
    if (!has_handle)
        return std::nullopt;
    SharedAllocation &fresh = own_[base] = {this_process(), base, size, buffer, {}};
    std::memcpy(fresh.handle.data(), &handle, sizeof(handle));
    // What was listed at these addresses before is gone.  No rank may open it after the new one.
    for (engine::SharedLists *const lists : all)
        for (transport::SharedSlot &slot : lists->mine.allocations) {
            if (!slot.used())
                break;
            if (const std::optional<SharedAllocation> each = slot.read();
                each && each->process == this_process() && each->overlaps(base, size))
                slot.clear();
        }
    return fresh;
}

std::uint64_t SharedMemory::share(engine::SharedLists &lists, const void *memory, std::size_t bytes,
                                  bool idle, std::optional<unsigned> kept,
                                  std::span<engine::SharedLists *const> all,
                                  WaitingStreams &waiting) {
    const std::optional<SharedAllocation> own = allocation_of(memory, bytes, all, waiting);
    if (!own)
        return 0;
    const auto distance =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory) - own->base);
    auto &slots = lists.mine.allocations;
    constexpr unsigned kNone = SharedDevice::kListedAllocations;
    unsigned slot = 0, empty = kNone, oldest = kNone;
    for (; slot < kNone && slots[slot].used(); ++slot) {
        const std::optional<SharedAllocation> each = slots[slot].read();
        if (each && each->buffer == own->buffer && each->process == this_process())
            return DevicePlace::of(slot, distance);
        if (!each)
            empty = std::min(empty, slot);
        else if (idle && slot != kept &&
                 (oldest == kNone || slots[slot].number() < slots[oldest].number()))
            oldest = slot; // others have had the time to open it
    }
    const unsigned room = empty != kNone ? empty : slot != kNone ? slot : oldest;
    if (room == kNone)
        return 0;
    slots[room].list(*own, lists.listings);
    return DevicePlace::of(room, distance);
}

std::optional<transport::DevicePiece>
SharedMemory::piece_of(const void *memory, std::size_t bytes,
                       std::span<engine::SharedLists *const> lists, WaitingStreams &waiting) {
    CUdevice device = 0;
    if (!complete(driver_) || driver_.device_of_context(&device) != CUDA_SUCCESS ||
        hash_of(device) == 0)
        return std::nullopt;
    const std::optional<SharedAllocation> own = allocation_of(memory, bytes, lists, waiting);
    if (!own)
        return std::nullopt;
    return transport::DevicePiece{*own, reinterpret_cast<std::uintptr_t>(memory), hash_of(device)};
}

// A process opens memory of another one in one context of a device (cuIpcOpenMemHandle).
bool SharedMemory::may_open_in(CUdevice device, const Context &context) {
    Context &known = opens_in_.try_emplace(device, context).first->second;
    if (known != context && !alive(driver_, known))
        known = context;
    return known == context;
}

const void *SharedMemory::find(const transport::DevicePiece &piece, WaitingStreams &waiting) {
    const SharedAllocation &allocation = piece.allocation;
    if (allocation.process == this_process())
        return reinterpret_cast<const void *>(piece.first);
    CUdevice own = 0;
    CUcontext context = nullptr;
    if (!complete(driver_) || driver_.device_of_context(&own) != CUDA_SUCCESS ||
        std::ranges::find(reached_from(own), piece.device) == reached_from(own).end())
        return nullptr;
    check_cuda(driver_, driver_.current_context(&context), "cuCtxGetCurrent");
    const Key key{identified(driver_, context), allocation.process, allocation.buffer};
    auto known = opened_.find(key);
    if (known == opened_.end() && !refused_.contains(key) && may_open_in(own, key.context)) {
        bool asked = false;
        waiting.ask_if_none([&] {
            open_for_messages(key, allocation);
            asked = true;
        });
        if (!asked && unopened_.size() < kMostUnopenedAllocations)
            unopened_.try_emplace(key, allocation);
        known = opened_.find(key);
    }
    return known == opened_.end() ? nullptr
                                  : reinterpret_cast<const void *>(static_cast<std::uintptr_t>(
                                        known->second.here + piece.distance()));
}

void SharedMemory::open_for_messages(const Key &key, const SharedAllocation &allocation) {
    const CUresult result = open(key, allocation);
    if (result == CUDA_SUCCESS)
        return;
    if (refused_.size() == kMostRefusedAllocations)
        refused_.clear();
    refused_.insert(key);
    if (!std::exchange(warned_, true))
        warn("messages in memory of a GPU go through host memory: " +
             std::string(cuda_error(driver_, result, "cuIpcOpenMemHandle").what()) +
             "; STRETTO_CUDA_IPC=off does not try");
}

void SharedMemory::open_unopened(WaitingStreams &waiting) {
    if (unopened_.empty())
        return;
    waiting.ask_if_none([&] {
        for (const auto &[key, allocation] : std::exchange(unopened_, {}))
            if (!opened_.contains(key) && alive(driver_, key.context)) {
                const Current current(driver_, key.context.handle);
                open_for_messages(key, allocation);
            }
    });
}

void *SharedMemory::find(const SharedDevice &its, DevicePlace place) {
    const std::optional<SharedAllocation> allocation = its.allocations[place.slot()].read();
    if (!allocation)
        return nullptr;
    const auto at = [&](CUdeviceptr base) {
        return reinterpret_cast<void *>(
            static_cast<std::uintptr_t>(base + static_cast<CUdeviceptr>(place.distance())));
    };
    if (allocation->process == this_process())
        return at(allocation->base);
    CUcontext context = nullptr;
    check_cuda(driver_, driver_.current_context(&context), "cuCtxGetCurrent");
    const auto known =
        opened_.find({identified(driver_, context), allocation->process, allocation->buffer});
    return known != opened_.end() ? at(known->second.here) : nullptr;
}

struct SharedMemory::Fresh {
    transport::SharedSlot *slot;
    std::uint32_t turn;
    SharedAllocation allocation;
    Key key;
};

std::vector<SharedMemory::Fresh> SharedMemory::fresh(const engine::SharedLists &lists,
                                                     const Context &context) const {
    std::vector<Fresh> found;
    for (SharedDevice *const other : lists.others)
        if (transport::reaches(lists.mine, *other))
            for (transport::SharedSlot &slot : other->allocations) {
                if (!slot.used())
                    break;
                std::uint32_t turn = 0;
                const std::optional<SharedAllocation> each = slot.read(turn);
                if (!each || each->process == this_process() || slot.refusal().error != 0)
                    continue;
                const Key key{context, each->process, each->buffer};
                if (!opened_.contains(key))
                    found.push_back({&slot, turn, *each, key});
            }
    return found;
}

void SharedMemory::open_listed(engine::SharedLists &lists, WaitingStreams &waiting) {
    // What is listed from now on is counted later, so it is not taken for opened.
    const std::uint64_t count = lists.listings.load(std::memory_order_acquire);
    if (lists.mine.opened.load(std::memory_order_relaxed) == count ||
        (lists.looked == count && waiting.any()))
        return;
    lists.looked = count;
    CUcontext context = nullptr;
    check_cuda(driver_, driver_.current_context(&context), "cuCtxGetCurrent");
    const std::vector<Fresh> unknown = fresh(lists, identified(driver_, context));
    bool all = unknown.empty();
    if (!all)
        waiting.ask_if_none([&] {
            for (const Fresh &each : unknown)
                open(lists.rank, each);
            all = true;
        });
    if (all)
        lists.mine.opened.store(count, std::memory_order_release);
}

// The memory may be gone, or its process.  If its owner uses it and this rank could not open it,
// the owner says so.
void SharedMemory::open(int rank, const Fresh &fresh) {
    const CUresult result = open(fresh.key, fresh.allocation);
    if (result != CUDA_SUCCESS)
        fresh.slot->refuse(fresh.turn, {rank, result});
}

CUresult SharedMemory::open(const Key &key, const SharedAllocation &allocation) {
    CUipcMemHandle handle;
    std::memcpy(&handle, allocation.handle.data(), sizeof(handle));
    Opened opened{0, allocation.base, allocation.bytes};
    const CUresult result =
        driver_.open_handle(&opened.here, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result == CUDA_SUCCESS) {
        replace_overlapping(key, allocation);
        opened_.emplace(key, opened);
    }
    return result;
}

// What lay there before is gone at its owner.  A copy may still read it, of a message for instance.
void SharedMemory::replace_overlapping(const Key &key, const SharedAllocation &next) {
    std::erase_if(opened_, [&](const auto &each) {
        const auto &[known, opened] = each;
        if (known.process != key.process || known.context != key.context ||
            opened.base >= next.base + next.bytes || next.base >= opened.base + opened.bytes)
            return false;
        replaced_.emplace_back(known.context, opened.here);
        return true;
    });
}

void SharedMemory::close_replaced(WaitingStreams &waiting) {
    if (replaced_.empty())
        return;
    waiting.ask_if_none([&] {
        for (const auto &[context, here] : std::exchange(replaced_, {}))
            if (alive(driver_, context)) {
                const Current current(driver_, context.handle);
                (void)driver_.close_handle(here);
            }
    });
}

} // namespace stretto::device
