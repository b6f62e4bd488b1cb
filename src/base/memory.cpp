// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.hpp"

#include <algorithm>
#include <cstdlib> // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/control_groups.hpp"
#include "base/kernel_files.hpp"

namespace stretto {

std::optional<std::size_t> available_memory(const std::string &root) {
    const auto machine = available_of(contents(root + "/proc/meminfo"));
    const auto groups = memory_left_by_groups(root);
    return machine && groups ? std::min(machine, groups) : machine ? machine : groups;
}

bool has_room(std::size_t bytes) {
    const auto available = available_memory();
    return !available || bytes <= *available;
}

void give_back_freed_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace stretto
