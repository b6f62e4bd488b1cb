// SPDX-License-Identifier: BSD-3-Clause
// Files of the kernel: memory, control groups, processes.
#include "base/control_groups.hpp"
#include "base/kernel_files.hpp"
#include "fuzz.hpp"

using namespace stretto;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    constexpr std::size_t kLongestPath = 4096; // of Linux
    const std::string_view text = fuzz::text_of(data, size);
    (void)available_of(text);
    if (const auto cores = cores_of(text))
        must(*cores > 0 || text.find('0') != std::string_view::npos, "a quota is worth something");
    const auto parts = fuzz::split(text, '|');
    if (const auto room = room_of(parts[0], parts.back(), parts.back()); room && parts.size() == 1)
        must(*room == 0, "a group that holds its limit has no room");
    (void)reclaimable_of(text);
    if (size <= kLongestPath) {
        // Before a bar what /proc/self/cgroup says, behind it what mountinfo does.
        for (const ControlGroup &group : control_groups(parts[0], parts.back(), "cpu"))
            must(group.version == 1 || group.version == 2, "there are two versions");
        constexpr char kMounts[] =
            "1 0 0:1 / /g rw - cgroup2 c rw\n2 0 0:2 /a /m rw - cgroup c cpu\n";
        for (const ControlGroup &group : control_groups(text, kMounts, "cpu"))
            must(group.folder.starts_with(group.version == 1 ? "/m" : "/g") &&
                     !group.folder.ends_with('/'),
                 "a group lies below its mount");
    }
    if (const auto process = process_of(text))
        must(text.find(process->name) != std::string_view::npos, "the name is part of the text");
    return 0;
}
