// SPDX-License-Identifier: BSD-3-Clause
#include "base/batch_policy.hpp"

#include <sched.h>

namespace stretto {

static bool set_policy(int policy) {
    const sched_param priority{}; // 0, as both policies require; nice values stay
    return sched_setscheduler(0, policy, &priority) == 0;
}

static thread_local bool this_thread = false; // has the policy by an object

BatchPolicy::BatchPolicy() noexcept
    : set_(sched_getscheduler(0) == SCHED_OTHER && set_policy(SCHED_BATCH)) {
    this_thread = this_thread || set_;
}

BatchPolicy::~BatchPolicy() {
    if (!set_)
        return;
    leave();
    this_thread = false;
}

bool BatchPolicy::in_force() noexcept {
    return this_thread;
}

void BatchPolicy::leave() noexcept {
    (void)set_policy(SCHED_OTHER);
}

} // namespace stretto
