// SPDX-License-Identifier: BSD-3-Clause
// The library's threads.  Their names distinguish them from the program's own in tools that list
// threads (top -H, perf, gdb).
#pragma once

#include <pthread.h>
#include <thread>
#include <utility>

#include "base/batch_policy.hpp"

namespace stretto {

// The name has at most 15 characters (pthread_setname_np).  Throws std::system_error if there can
// be no more threads.  A thread that a rank starts while it sleeps in a call has the normal
// scheduling policy (batch_policy.hpp).
template<typename Work>
std::thread named_thread(const char *name, Work work) {
    return std::thread([name, batch = BatchPolicy::in_force(), work = std::move(work)] {
        if (batch)
            BatchPolicy::leave();
        ::pthread_setname_np(::pthread_self(), name);
        work();
    });
}

} // namespace stretto
