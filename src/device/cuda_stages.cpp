// SPDX-License-Identifier: BSD-3-Clause
// The stages of a pass that goes through host memory (staged_pass.hpp): operands come to pinned
// memory, the CPU reduces them, and results go to the device.
#include <cstring>
#include <span>
#include <utility>

#include "device/cuda_executor.hpp"

namespace stretto::device {

using engine::Kernel;
using Way = CudaCopies::Way;

static constexpr std::size_t kShortBytes = 8192;

// Only the CPU, and only host memory.
void CudaExecutor::perform_on_cpu(const Kernel &kernel, std::span<void *const> outs,
                                  std::span<const void *const> ins, std::size_t bytes) {
    const int results = static_cast<int>(outs.size()), operands = static_cast<int>(ins.size());
    if (operands == 1)
        reduce::copy_pass()(outs.data(), results, ins.data(), 1, bytes, 0);
    else
        kernel.pass(outs.data(), results, ins.data(), operands, bytes / size_of(kernel.dtype), 0);
}

// False if there is no pinned memory until other passes have ended.
bool CudaExecutor::start(StagedPass &pass) {
    if (const std::size_t pieces = pass.pieces(); pieces != 0) {
        pass.block = pool_.take(pieces * pass.piece_bytes());
        if (pass.block.memory == nullptr)
            return false;
    }
    fetch(pass);
    return true;
}

// Of a pass that copies.  A short one to memory that the driver does not reach by itself goes by
// way of the pool: it would hold up this thread otherwise (take_short_result).
void CudaExecutor::fetch_to_host(StagedPass &pass, const void *from) {
    void *to = pass.host_outs[0];
    if (pass.bytes <= kShortBytes && pass.block.memory == nullptr &&
        !registered_.covers(to, pass.bytes))
        pass.block = pool_.take_if_pinned(pass.bytes);
    if (pass.block.memory != nullptr)
        to = pass.block.memory; // from where the CPU copies
    else
        pass.host_outs.erase(pass.host_outs.begin());
    pass.copies->copy(Way::from_device, to, from, pass.bytes);
    pass.ins[0] = to;
}

void CudaExecutor::fetch(StagedPass &pass) {
    std::size_t fetched = 0;
    for (std::size_t k = 0; k < pass.ins.size(); ++k) {
        if (!pass.on_device[k])
            continue;
        const void *const from = pass.ins[k];
        if (!pass.copies_only()) {
            pass.ins[k] = pass.piece(fetched);
            pass.copies->copy(Way::from_device, pass.piece(fetched), from, pass.bytes);
        } else {
            for (void *const out : pass.device_outs)
                pass.copies->copy(Way::from_device, out, from, pass.bytes);
            pass.device_outs.clear();
            if (!pass.host_outs.empty())
                fetch_to_host(pass, from);
        }
        ++fetched;
    }
    if (fetched == 0)
        return;
    if (pass.event != nullptr) // of what was prefetched, before
        pass.copies->give_back(pass.event);
    pass.event = pass.copies->mark(Way::from_device);
    pass.number = ++marks_;
}

// The CPU's part, without the lock.
void CudaExecutor::work(StagedPass &pass) {
    if (pass.copies_only()) {
        pass.result = pass.ins[0];
        if (!pass.host_outs.empty())
            perform_on_cpu(pass.kernel, pass.host_outs, pass.ins, pass.bytes);
        return;
    }
    if (pass.host_outs.empty())
        pass.host_outs.push_back(pass.own_place());
    pass.result = pass.host_outs[0];
    perform_on_cpu(pass.kernel, pass.host_outs, pass.ins, pass.bytes);
}

// Short payloads of other hosts lie where the driver does not reach them by itself: it would copy
// them in a way of its own, in which it may wait for other work.
void CudaExecutor::take_short_result(StagedPass &pass) {
    if (pass.bytes > kShortBytes || pass.block.memory != nullptr ||
        registered_.covers(pass.result, pass.bytes))
        return;
    pass.block = pool_.take_if_pinned(pass.bytes);
    if (pass.block.memory != nullptr)
        pass.result = std::memcpy(pass.block.memory, pass.result, pass.bytes);
}

void CudaExecutor::store(StagedPass &pass) {
    take_short_result(pass);
    for (void *const out : pass.device_outs)
        pass.copies->copy(Way::to_device, out, pass.result, pass.bytes);
    if (pass.event != nullptr)
        pass.copies->give_back(std::exchange(pass.event, nullptr));
    pass.event = pass.copies->mark(Way::to_device);
}

} // namespace stretto::device
