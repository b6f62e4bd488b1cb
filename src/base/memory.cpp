// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib> // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/kernel_files.hpp"

namespace stretto {

std::size_t available_memory() {
    std::size_t room = available_of(contents("/proc/meminfo")).value_or(SIZE_MAX);
    for (const std::string &group : control_groups(contents("/proc/self/cgroup"))) {
        const std::string folder = "/sys/fs/cgroup" + group;
        if (const auto left =
                room_of(contents(folder + "/memory.max"), contents(folder + "/memory.current")))
            room = std::min(room, *left);
    }
    return room;
}

void give_back_freed_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace stretto
