// SPDX-License-Identifier: BSD-3-Clause
// A thread that, when it is woken, leaves its core to the thread that runs there until that one
// sleeps or has used its time slice (SCHED_BATCH).  A thread of the normal policy (SCHED_OTHER)
// often takes the core at once.
#pragma once

namespace stretto {

class BatchPolicy {
public:
    // Gives the calling thread the policy, if it has the normal one and the kernel lets it.
    BatchPolicy() noexcept;
    ~BatchPolicy(); // and gives the normal one back
    BatchPolicy(const BatchPolicy &) = delete;
    BatchPolicy &operator=(const BatchPolicy &) = delete;

    // Whether the calling thread has the policy by an object of this class.  A thread that it
    // starts now inherits the policy, and calls leave() if it should not have it.
    static bool in_force() noexcept;
    static void leave() noexcept;

private:
    bool set_;
};

} // namespace stretto
