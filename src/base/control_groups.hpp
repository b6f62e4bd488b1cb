// SPDX-License-Identifier: BSD-3-Clause
// What the control groups of this process allow, of either version: cgroups v2, v1, and both side
// by side.  Functions of text stand apart from reading, so that any text can be tried.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

// One group of this process, as a folder of a mounted hierarchy.
struct ControlGroup {
    std::string folder; // "/sys/fs/cgroup/memory/job/step"
    int version;        // 1 or 2: files have other names
};

// Of /proc/self/cgroup and /proc/self/mountinfo: the groups that limit `controller` ("memory",
// "cpu") for this process, from the inner one to the mount point of each hierarchy.  A container
// sees its group as the root of a mount, while its path counts from the host's root: "/docker/4f/x"
// of a mount of "/docker/4f" at /sys/fs/cgroup/memory is /sys/fs/cgroup/memory/x.
std::vector<ControlGroup> control_groups(std::string_view cgroup, std::string_view mountinfo,
                                         std::string_view controller);

// Of the files of a group: bytes that it may still take.  Page cache counts as used in a group, but
// the kernel drops it when the group needs memory, so it is room.  Nothing without a limit, or if
// the files do not say.  memory.limit_in_bytes and memory.usage_in_bytes in version 1, memory.max
// and memory.current in version 2.
std::optional<std::size_t> room_of(std::string_view limit, std::string_view used,
                                   std::string_view stat);

// Of memory.stat: bytes of page cache and of kernel caches that the kernel can drop.
std::size_t reclaimable_of(std::string_view stat);

// Of cpu.max (version 2), or of cpu.cfs_quota_us and cpu.cfs_period_us (version 1) with a space
// between them: cores that the quota is worth, rounded up; nothing without a quota.
std::optional<unsigned> cores_of(std::string_view quota_and_period);

// The least of all groups of this process; nothing if none has a limit.  `root` stands before each
// path: tests play recorded files.
std::optional<std::size_t> memory_left_by_groups(const std::string &root = "");
std::optional<unsigned> cores_left_by_groups(const std::string &root = "");

} // namespace stretto
