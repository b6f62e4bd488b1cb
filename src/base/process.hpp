// SPDX-License-Identifier: BSD-3-Clause
// Programs that fork: identifies this process, and closes what a child must not keep of its parent.
//
// A child has a copy of all memory, but none of the threads, and it shares the descriptors.  So it
// cannot use objects that the parent has made: each object compares its process with this one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.hpp"

namespace stretto {

namespace process_detail {
extern std::atomic<std::uint32_t> *const mark; // 0 in a child that has not asked yet
std::uint32_t new_mark() noexcept;
} // namespace process_detail

// The generation of this process: a number that is different in every child, however it was forked.
// Costs two loads.
inline std::uint32_t process_mark() noexcept {
    const std::uint32_t mark = process_detail::mark->load(std::memory_order_relaxed);
    return mark != 0 ? mark : process_detail::new_mark();
}

// The error of a forked child that uses a communicator of its parent.  `parent`: "rank 3 of job
// 'x'".
Error used_in_child(const std::string &parent, int parent_process);

// From now on fork() closes this descriptor in the child, whichever thread forks: a socket that
// stays open there would hide the end of the parent.
void close_in_children(int descriptor) noexcept;
// The caller closes the descriptor now.  False in a child, where it is closed already.
bool forget_descriptor(int descriptor) noexcept;

// From now on fork() waits until no thread holds this lock, so that it is free in the child.  For
// locks that threads hold for a short time and that live as long as the process.
void hold_at_fork(std::mutex &mutex) noexcept;

// A lock of the whole process, which is free in a child.  Not for other kinds of lock: a rwlock
// that is unlocked in a child goes to a thread that waited for it in the parent.
class ProcessLock : public std::mutex {
public:
    ProcessLock() { hold_at_fork(*this); }
};

} // namespace stretto
