// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says in files of /proc and of control groups.  Taking the text apart stands apart
// from reading it, so that any text can be tried; none of these functions throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

// The whole file; "" if it cannot be read.
std::string contents(const std::string &path);

// Another number in each PID namespace, whose process numbers have nothing to do with those of
// others; 0 if it cannot be found out.
std::uint64_t pid_namespace();

// Of /proc/meminfo: bytes that the machine has available.
std::optional<std::size_t> available_of(std::string_view meminfo);

// Of /proc/<pid>/cgroup: the group (v2) and those above it, the innermost first, each as a path
// below the file system of control groups: "/a/b", "/a", "".
std::vector<std::string> control_groups(std::string_view cgroup);

// Of memory.max and memory.current: bytes that the group may still take; nothing without a limit.
std::optional<std::size_t> room_of(std::string_view memory_max, std::string_view memory_current);

// Of cpu.max: cores that the quota is worth, rounded up; nothing without a quota.
std::optional<unsigned> cores_of(std::string_view cpu_max);

// Of /proc/<pid>/stat.
struct ProcessStat {
    std::string name;
    char state = '?'; // R running, S sleeping, T stopped, ...
    int parent = 0;
};
std::optional<ProcessStat> process_of(std::string_view stat);
// When the process started, in ticks since the machine did; "?" if the text does not say.
std::string start_of(std::string_view stat);

} // namespace stretto
