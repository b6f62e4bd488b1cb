// SPDX-License-Identifier: BSD-3-Clause
// How ranks of one host see whether a rank's process still runs.
//
// A rank locks byte `rank` of the memory's file, and the kernel drops the lock when the process
// ends, however it ends.  The lock belongs to an open file description that this process alone has
// (F_OFD_SETLK).  So nothing else that the process opens or closes drops it, and neither locking
// nor looking needs a process number, which two PID namespaces can both have.
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
    // Whether a process holds this rank: this one or another one.
    bool held(int rank) const;

private:
    // Opens the file once more, for locks that are this object's own.  Not open if /proc is
    // missing.
    Descriptor open_again() const;

    const int file_;
    std::mutex mutex_;
    Descriptor own_;                                 // opened by the first hold()
    std::unique_ptr<std::atomic<bool>[]> held_here_; // by rank
};

} // namespace stretto::transport
