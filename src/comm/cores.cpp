// SPDX-License-Identifier: BSD-3-Clause
#include "comm/cores.hpp"

#include <algorithm>
#include <climits>
#include <string>

#include "base/kernel_files.hpp"

namespace stretto::comm {

cpu_set_t affinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        CPU_SET(0, &set);
    return set;
}

unsigned quota() {
    unsigned cores = UINT_MAX;
    for (const std::string &group : control_groups(contents("/proc/self/cgroup")))
        if (const auto worth = cores_of(contents("/sys/fs/cgroup" + group + "/cpu.max")))
            cores = std::min(cores, *worth);
    return cores;
}

unsigned cores_worth(const cpu_set_t &allowed) {
    return std::max(1u, std::min(static_cast<unsigned>(CPU_COUNT(&allowed)), quota()));
}

} // namespace stretto::comm
