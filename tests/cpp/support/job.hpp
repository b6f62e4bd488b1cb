// SPDX-License-Identifier: BSD-3-Clause
// Names of jobs, none of which was there before.
#pragma once

#include <atomic>
#include <string>
#include <unistd.h>

namespace test {

inline std::string fresh_job() {
    static std::atomic<int> jobs{0};
    return "test-" + std::to_string(getpid()) + "-" + std::to_string(jobs++);
}

} // namespace test
