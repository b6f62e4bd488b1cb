// SPDX-License-Identifier: BSD-3-Clause
#include "base/batch_policy.hpp"

#include <sched.h>

namespace stretto {

static bool set_policy(int policy) {
    const sched_param priority{}; // 0, as both policies require; nice values stay
    return sched_setscheduler(0, policy, &priority) == 0;
}

BatchPolicy::BatchPolicy() noexcept
    : set_(sched_getscheduler(0) == SCHED_OTHER && set_policy(SCHED_BATCH)) {}

BatchPolicy::~BatchPolicy() {
    if (set_)
        (void)set_policy(SCHED_OTHER);
}

} // namespace stretto
