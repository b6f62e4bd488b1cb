// SPDX-License-Identifier: BSD-3-Clause
#include "comm/cores.hpp"

#include <climits>
#include <fstream>
#include <string>

namespace stretto::comm {

cpu_set_t affinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        CPU_SET(0, &set);
    return set;
}

unsigned quota() {
    std::ifstream self("/proc/self/cgroup");
    std::string line;
    while (std::getline(self, line)) {
        if (line.rfind("0::", 0) != 0)
            continue;
        std::ifstream limit("/sys/fs/cgroup" + line.substr(3) + "/cpu.max");
        double microseconds = 0, period = 0;
        if (limit >> microseconds >> period && period > 0) // "max 100000" fails here
            return static_cast<unsigned>((microseconds + period - 1) / period);
    }
    return UINT_MAX;
}

} // namespace stretto::comm
