// SPDX-License-Identifier: BSD-3-Clause
// Shows ranks of one host whether a rank's process still runs.
//
// A rank locks byte `rank` of the memory's file, and the kernel drops the lock when the process
// ends, however it ends.  The lock belongs to an open file description that this process alone has
// (F_OFD_SETLK).  So no other open or close in the process drops it, and neither locking nor
// checking needs a process number, which can be the same in two PID namespaces.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "base/descriptor.hpp"

namespace stretto::transport {

class Lifeline {
public:
    // `file`: a descriptor of the memory, which outlives this object.
    Lifeline(int file, std::size_t ranks);

    // From now on other processes see that `rank` is alive.  Throws Error(system).
    void hold(int rank);
    void release(int rank) noexcept;
    // Whether any process, this one included, holds this rank's lock.
    bool held(int rank) const;

private:
    // Opens the file once more, so that this object has locks of its own.  Not open if /proc is
    // missing.
    Descriptor open_again() const;

    const int file_;
    std::mutex mutex_;
    Descriptor own_;                                 // opened by the first hold()
    std::unique_ptr<std::atomic<bool>[]> held_here_; // by rank
};

} // namespace stretto::transport
