// SPDX-License-Identifier: BSD-3-Clause
#include "device/registered_memory.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "base/warning.hpp"
#include "device/cuda_copies.hpp"

namespace stretto::device {

void RegisteredMemory::add(void *memory, std::size_t bytes) {
    State &state = states_[memory];
    state.bytes = bytes;
    ++state.users;
    all_tried_ = all_tried_ && state.tried;
}

bool RegisteredMemory::covers(const void *memory, std::size_t bytes) const {
    const auto after = states_.upper_bound(memory);
    if (after == states_.begin())
        return false;
    const auto &[first, state] = *std::prev(after);
    const auto *const begin = static_cast<const std::byte *>(first);
    return state.registered &&
           static_cast<const std::byte *>(memory) + bytes <= begin + state.bytes;
}

// The current context, which is about to register memory.
Context RegisteredMemory::registrar() {
    CUcontext context = nullptr;
    check_cuda(driver_, driver_.current_context(&context), "cuCtxGetCurrent");
    const Context by = identified(driver_, context);
    if (std::ranges::find(registrars_, by) == registrars_.end())
        registrars_.push_back(by);
    return by;
}

void RegisteredMemory::forget_destroyed(const Context &current) {
    std::erase_if(registrars_, [&](const Context &each) { // nearly always the current one alone
        const bool gone = each != current && !alive(driver_, each);
        if (gone)
            forget(each);
        return gone;
    });
}

CUresult RegisteredMemory::allocate(std::size_t bytes, void **memory) {
    constexpr std::align_val_t kPage{4096};
    const Context by = registrar();
    *memory = ::operator new(bytes, kPage);
    State *state = nullptr;
    try {
        state = &states_[*memory];
    } catch (...) {
        ::operator delete(*memory, kPage);
        throw;
    }
    const CUresult result = driver_.register_host(*memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (result != CUDA_SUCCESS) {
        states_.erase(*memory);
        ::operator delete(std::exchange(*memory, nullptr), kPage);
        return result;
    }
    *state = {bytes, 1, true, true, by};
    return CUDA_SUCCESS;
}

void RegisteredMemory::forget(const Context &context) noexcept {
    for (auto &[memory, state] : states_)
        if (state.tried && state.by == context) {
            state.tried = state.registered = false;
            all_tried_ = false;
        }
}

void RegisteredMemory::register_all() {
    if (all_tried_)
        return;
    const Context by = registrar();
    all_tried_ = true;
    for (auto &[memory, state] : states_) {
        if (std::exchange(state.tried, true))
            continue;
        state.by = by;
        const CUresult result =
            driver_.register_host(memory, state.bytes, CU_MEMHOSTREGISTER_PORTABLE);
        state.registered = result == CUDA_SUCCESS;
        if (state.registered || std::exchange(warned_, true))
            continue;
        const std::string call = "cuMemHostRegister of " + std::to_string(state.bytes) + " bytes";
        warn(std::string(cuda_error(driver_, result, call).what()) +
             "; copies between devices and shared memory are slower without; raise the limit of "
             "locked memory (ulimit -l)");
    }
}

bool RegisteredMemory::remove(void *memory) noexcept {
    const auto found = states_.find(memory);
    if (found == states_.end() || --found->second.users != 0)
        return false;
    const bool registered = found->second.registered;
    states_.erase(found);
    return registered;
}

} // namespace stretto::device
