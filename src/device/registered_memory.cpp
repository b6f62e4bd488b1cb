// SPDX-License-Identifier: BSD-3-Clause
#include "device/registered_memory.hpp"

#include <string>
#include <utility>

#include "base/warning.hpp"

namespace stretto::device {

void RegisteredMemory::add(void *memory, std::size_t bytes) {
    State &state = states_[memory];
    state.bytes = bytes;
    ++state.users;
    all_tried_ = all_tried_ && state.tried;
}

void RegisteredMemory::register_all() {
    if (std::exchange(all_tried_, true))
        return;
    for (auto &[memory, state] : states_) {
        if (std::exchange(state.tried, true))
            continue;
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
