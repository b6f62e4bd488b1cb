// SPDX-License-Identifier: BSD-3-Clause
// The limits of this process's control groups, of either version: cgroups v2, v1, and both side by
// side.  Parsing is separate from reading, so that tests can try any text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

// A control group of this process: a folder of a mounted hierarchy.
struct ControlGroup {
    std::string folder; // "/sys/fs/cgroup/memory/job/step"
    int version;        // 1 or 2: files have other names
};

// The groups that limit `controller` ("memory", "cpu") for this process, from the innermost one to
// the mount point of each hierarchy.  Read from /proc/self/cgroup and /proc/self/mountinfo.  A
// container sees its group as the root of a mount, while its path counts from the host's root:
// "/docker/4f/x" of a mount of "/docker/4f" at /sys/fs/cgroup/memory is /sys/fs/cgroup/memory/x.
std::vector<ControlGroup> control_groups(std::string_view cgroup, std::string_view mountinfo,
                                         std::string_view controller);

// Bytes that a group may still take, by its files.  Page cache counts as used in a group, but the
// kernel drops it when the group needs memory, so here it counts as free.  Nothing if the group has
// no limit, or if the files do not say.  memory.limit_in_bytes and memory.usage_in_bytes in version
// 1, memory.max and memory.current in version 2.
std::optional<std::size_t> room_of(std::string_view limit, std::string_view used,
                                   std::string_view stat);

// Bytes of page cache and of kernel caches that the kernel can drop, from memory.stat.
std::size_t reclaimable_of(std::string_view stat);

// Cores that the CPU quota is worth, rounded up; nothing without a quota.  The text is cpu.max
// (version 2), or cpu.cfs_quota_us and cpu.cfs_period_us (version 1) with a space between them.
std::optional<unsigned> cores_of(std::string_view quota_and_period);

// The least value of all groups of this process; nothing if no group has a limit.  `root` is put
// before each path, so that tests can use recorded files.
std::optional<std::size_t> memory_left_by_groups(const std::string &root = "");
std::optional<unsigned> cores_left_by_groups(const std::string &root = "");

} // namespace stretto
