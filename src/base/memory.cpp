// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace stretto {

static std::size_t of_machine() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::size_t kibibytes = 0;
    while (file >> name >> kibibytes) {
        std::getline(file, unit);
        if (name == "MemAvailable:")
            return kibibytes << 10;
    }
    return SIZE_MAX;
}

static std::size_t of_control_group() {
    std::ifstream self("/proc/self/cgroup");
    std::string line;
    while (std::getline(self, line)) {
        if (line.rfind("0::", 0) != 0)
            continue;
        const std::string group = "/sys/fs/cgroup" + line.substr(3);
        std::ifstream limit_file(group + "/memory.max"), used_file(group + "/memory.current");
        std::size_t limit = 0, used = 0;
        if (limit_file >> limit && used_file >> used) // "max" fails here
            return limit > used ? limit - used : 0;
    }
    return SIZE_MAX;
}

std::size_t available_memory() {
    return std::min(of_machine(), of_control_group());
}

} // namespace stretto
