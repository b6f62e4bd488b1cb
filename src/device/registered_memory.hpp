// SPDX-License-Identifier: BSD-3-Clause
// Host memory that the library owns and that devices reach: the rings of a host's ranks, pools, and
// words that streams wait for.  It is registered once and not in each call.
//
// A registration ends with the context that made it, which the program may destroy.  The memory is
// never the driver's, so it stays, and is registered anew in another context.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

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
    // Whether the device reaches all of these bytes.
    bool covers(const void *memory, std::size_t bytes) const;
    bool all_tried() const { return all_tried_; }
    // Pinned memory, for as long as the process lives.  Gives the driver's answer.  With a context
    // current.  Throws std::bad_alloc.
    CUresult allocate(std::size_t bytes, void **memory);
    // Memory that was registered in contexts which the program has destroyed is not registered any
    // more.  `current` is not destroyed.
    void forget_destroyed(const Context &current);
    // Registers what was added since.  With a context current.  If the driver refuses, it warns
    // once: copies are right without, and slow.
    void register_all();

private:
    struct State {
        std::size_t bytes = 0, users = 0;
        bool tried = false, registered = false;
        Context by = {}; // the context that was asked
    };

    Context registrar();
    void forget(const Context &context) noexcept;

    const Cuda &driver_;
    std::map<void *, State, std::less<>> states_;
    std::vector<Context> registrars_; // contexts in which memory was registered
    bool all_tried_ = true, warned_ = false;
};

} // namespace stretto::device
