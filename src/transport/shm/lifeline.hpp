// SPDX-License-Identifier: BSD-3-Clause
// Shows ranks of one host whether a rank's process still runs.
//
// A rank locks byte `rank` of its communicator's memory, and the kernel drops the lock when the
// process ends, however it ends.  The lock belongs to an open file description that this process
// alone has (F_OFD_SETLK).  So no other open or close in the process drops it, and neither locking
// nor checking needs a process number, which can be the same in two PID namespaces.
#pragma once

#include <atomic>
#include <cstddef>
#include <fcntl.h>
#include <memory>

#include "base/descriptor.hpp"

namespace stretto::transport {

// Opens memory once more, so that this process has a description of its own.  Not open if /proc,
// where alone the memory has a path, is missing or shows other processes.
Descriptor open_again(int file);

class Lifeline {
public:
    // `file`: the memory, in which that of the communicator begins at `first`.  `own`: what
    // open_again() gives; -1 if it is not open.  Both descriptors outlive this object.
    Lifeline(int file, int own, std::size_t first, std::size_t ranks);

    // From now on other processes see that `rank` is alive, until release().  Throws Error(system).
    void hold(int rank);
    // Of all ranks of this process that it has held for.
    void release() noexcept;
    // Whether any process, this one included, holds this rank's lock.
    bool held(int rank) const;
    // Whether another process holds any.
    bool held_by_any() const;

private:
    struct flock bytes(short type, std::size_t first, std::size_t count) const;
    int set(struct flock &lock) const;

    const int file_, own_;
    const std::size_t first_, ranks_;
    std::unique_ptr<std::atomic<bool>[]> held_here_; // by rank
};

} // namespace stretto::transport
