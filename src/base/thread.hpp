// SPDX-License-Identifier: BSD-3-Clause
// The library's threads.  Their names distinguish them from the program's own in tools that list
// threads (top -H, perf, gdb).
#pragma once

#include <pthread.h>
#include <thread>
#include <utility>

namespace stretto {

// The name has at most 15 characters (pthread_setname_np).  Throws std::system_error if there can
// be no more threads.
template<typename Work>
std::thread named_thread(const char *name, Work work) {
    return std::thread([name, work = std::move(work)] {
        ::pthread_setname_np(::pthread_self(), name);
        work();
    });
}

} // namespace stretto
