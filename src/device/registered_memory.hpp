// SPDX-License-Identifier: BSD-3-Clause
// Host memory that the library owns and that devices reach: the rings of a host's ranks.  It is
// registered once and not in each call.
#pragma once

#include <cstddef>
#include <map>

#include "device/cuda.hpp"

namespace stretto::device {

// One thread at a time.
class RegisteredMemory {
public:
    explicit RegisteredMemory(const Cuda &driver) : driver_(driver) {}

    // Several users may add the same memory; it is registered until the last has removed it.
    void add(void *memory, std::size_t bytes);
    // True if the last user has removed it and it is to be unregistered.
    bool remove(void *memory) noexcept;
    bool all_tried() const { return all_tried_; }
    // Registers what was added since.  With a context current.  If the driver refuses, it warns
    // once: copies are right without, and slow.
    void register_all();

private:
    struct State {
        std::size_t bytes = 0, users = 0;
        bool tried = false, registered = false;
    };

    const Cuda &driver_;
    std::map<void *, State> states_;
    bool all_tried_ = true, warned_ = false;
};

} // namespace stretto::device
