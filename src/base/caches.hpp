// SPDX-License-Identifier: BSD-3-Clause
// Which processors share a last-level cache, as the kernel's files say.
//
//   cpu0/cache/index3/level              3
//   cpu0/cache/index3/shared_cpu_list    0-7,64-71
//   cpu0/topology/physical_package_id    0
//
// hwloc reads the same files; it would be one more library for three numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

// "0-3,8" as the kernel writes it: 0 1 2 3 8.  Reading stops at the first character that does not
// belong to such a list, and at a number above 8191.
std::vector<std::size_t> processors_in(std::string_view list);

class Caches {
public:
    // The caches of these processors.  `root`: a tree like /sys/devices/system/cpu.  Reads a few
    // files for each cache.
    static Caches read(const std::vector<std::size_t> &processors,
                       const std::string &root = "/sys/devices/system/cpu");

    // The last-level cache of a processor, named by the lowest processor that shares it.  If the
    // kernel names no cache, as in some virtual machines, the processors of a socket share one.
    std::optional<std::int32_t> of(std::size_t processor) const;
    // The last-level cache that all of these processors share.  Nothing if they have several
    // caches, or if the cache of one processor is not known.
    std::optional<std::int32_t> shared_by(const std::vector<std::size_t> &processors) const;

private:
    std::vector<std::int32_t> cache_of_; // by processor; -1: not known
};

} // namespace stretto
