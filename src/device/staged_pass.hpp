// SPDX-License-Identifier: BSD-3-Clause
// One pass of a call whose buffers are on a device, on its way through the pipeline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "device/cuda_copies.hpp"
#include "device/pinned_pool.hpp"
#include "engine/executor.hpp"

namespace stretto::device {

// A pass between issue() and its completion.
struct StagedPass {
    // waiting:  for pinned memory
    // fetching: device operands come to pinned memory, or right to a result in host memory
    // storing:  a result in host memory goes to results on the device
    // Between these two the CPU reduces, or copies to more results in host memory.  Most passes
    // have less: a contribution that is copied into a cell is only fetched, and a result that is
    // copied from a cell is only stored.
    //
    // computing: a kernel reduces operands on the device to results there, in place of all these
    enum class Stage { waiting, fetching, storing, computing } stage = Stage::waiting;
    std::vector<void *> host_outs, device_outs; // that are not written yet
    std::vector<const void *> ins;
    std::vector<bool> on_device; // by operand: it is not fetched yet
    std::size_t bytes = 0;
    engine::Kernel kernel;
    std::vector<engine::Completion *> completions; // several: it has gathered other passes
    CudaCopies *copies = nullptr;
    CUfunction function = nullptr; // the kernel; null: the CPU reduces
    CUcontext context = nullptr;   // of the buffers on the device
    bool one_context = true;       // all of them have the same
    PinnedPool::Block block; // for operands, and for a result that has no place in host memory
    std::vector<PinnedPool::Block> prefetched; // operands that were fetched before
    const void *result = nullptr;              // in host memory
    CUevent event = nullptr;                   // the end of the stage
    std::uint64_t number = 0;                  // of this event

    bool counted = false; // among the contributions in the queue of the copy engine

    bool copies_only() const { return ins.size() == 1; }
    // A contribution: copied from the device, for other ranks to read.
    bool contributes() const { return copies_only() && on_device[0] && device_outs.empty(); }
    // Whether all buffers are where one kernel reaches them.
    bool all_on_device() const {
        return host_outs.empty() && prefetched.empty() && one_context &&
               std::ranges::count(on_device, false) == 0;
    }
    std::size_t piece_bytes() const {
        constexpr std::size_t kLineBytes = 64;
        return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
    std::size_t pieces() const {
        if (copies_only())
            return 0;
        const auto operands = static_cast<std::size_t>(std::ranges::count(on_device, true));
        return std::max(operands, std::size_t{host_outs.empty() && prefetched.empty() ? 1u : 0u});
    }
    std::byte *piece(std::size_t which) const { return block.memory + which * piece_bytes(); }
    // For a result that has no place in host memory: one of its operands, or a piece.
    std::byte *own_place() const { return prefetched.empty() ? piece(0) : prefetched[0].memory; }
};

using PassPointer = std::unique_ptr<StagedPass>;
using Passes = std::deque<PassPointer>;

} // namespace stretto::device
