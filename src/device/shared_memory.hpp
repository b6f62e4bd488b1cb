// SPDX-License-Identifier: BSD-3-Clause
// Device memory of other ranks of this host, read and written in place: by handles of CUDA's
// interprocess communication, or directly if both ranks are in one process.
//
// What CUDA says of handles (driver API, cuIpcOpenMemHandle): memory of cuMemAlloc has one, memory
// of pools and of cuMemCreate has none.  A process cannot open its own handle.  Freeing memory that
// another process has open is undefined by the documentation; drivers keep it until the last has
// closed it.  A program frees its memory whenever it likes, so what is open here is closed when its
// owner shares other memory at the same addresses and nothing reads it, and else when the process
// ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "device/cuda.hpp"
#include "device/waiting_streams.hpp"
#include "engine/executor.hpp"
#include "transport/shm/shared_device.hpp"

namespace stretto::device {

// One thread at a time, with a context current.
class SharedMemory {
public:
    explicit SharedMemory(const Cuda &driver) : driver_(driver) {}

    // Publishes which device this rank's memory is on, and which it reaches, unless it has.  False
    // if that is not the device of the current context.
    bool announce(transport::SharedDevice &mine);
    // Makes a context the one in which this rank opens memory of others.  False if another one is
    // in use: calls in flight (`idle`: there are none) read what is open there.
    bool enter(transport::SharedDevice &mine, CUcontext context, bool idle);
    // The place of a buffer of this rank, for others (transport::DevicePlace); 0: its allocation
    // has no handle, all slots are in use, or the driver is not to be asked for a handle now.
    // `idle`: no call in flight has given a place of this rank, but for those of `kept`.
    // `all`: the lists of all communicators of this process.
    std::uint64_t share(engine::SharedLists &lists, const void *memory, std::size_t bytes,
                        bool idle, std::optional<unsigned> kept,
                        std::span<engine::SharedLists *const> all, WaitingStreams &waiting);
    // Opens what others have listed.  If a stream of the program waits, opens nothing, and
    // publishes only what is open already.
    void open_listed(engine::SharedLists &lists, WaitingStreams &waiting);
    // The same bytes in this process; null if they are not open in the current context.
    void *find(const transport::SharedDevice &its, transport::DevicePlace place);
    // Bytes of this process, for a message to another one; nothing: as share().
    std::optional<transport::DevicePiece> piece_of(const void *memory, std::size_t bytes,
                                                   std::span<engine::SharedLists *const> lists,
                                                   WaitingStreams &waiting);
    // Those of a message in this process, opened in the current context, unless a stream waits;
    // null: they are not.
    const void *find(const transport::DevicePiece &piece, WaitingStreams &waiting);
    // Opens what find() could not since a stream waited, for later messages, unless one does now.
    void open_unopened(WaitingStreams &waiting);
    // Closes what other memory at its owner has replaced.  No copy and no kernel is on its way.
    void close_replaced(WaitingStreams &waiting);

private:
    struct Key {
        Context context;
        std::uint64_t process, buffer;
        auto operator<=>(const Key &) const = default;
    };
    struct Opened {
        CUdeviceptr here = 0;
        std::uint64_t base = 0, bytes = 0; // at its owner
    };
    struct Fresh; // listed, and not open
    std::uint32_t hash_of(CUdevice device);
    const std::vector<std::uint32_t> &reached_from(CUdevice own);
    std::optional<transport::SharedAllocation>
    allocation_of(const void *memory, std::size_t bytes, std::span<engine::SharedLists *const> all,
                  WaitingStreams &waiting);
    bool may_open_in(CUdevice device, const Context &context);
    CUresult open(const Key &key, const transport::SharedAllocation &allocation);
    void open_for_messages(const Key &key, const transport::SharedAllocation &allocation);
    std::vector<Fresh> fresh(const engine::SharedLists &lists, const Context &context) const;
    void open(int rank, const Fresh &fresh);
    void replace_overlapping(const Key &key, const transport::SharedAllocation &next);

    static constexpr std::size_t kMostRefusedAllocations = 4096, kMostUnopenedAllocations = 256;

    const Cuda &driver_;
    std::map<CUdevice, std::uint32_t> hashes_;
    std::map<CUdevice, std::vector<std::uint32_t>> reached_; // from a device, itself first
    std::map<CUdeviceptr, transport::SharedAllocation> own_; // that have handles, by address
    std::vector<std::pair<Context, CUdeviceptr>> replaced_;  // and still open
    std::map<CUdevice, Context> opens_in_;                   // for messages
    std::set<Key> refused_;                                  // the same, by the driver
    bool warned_ = false;                                    // of that
    std::map<Key, transport::SharedAllocation> unopened_;    // of messages, since a stream waited
    std::map<Key, Opened> opened_;
};

} // namespace stretto::device
