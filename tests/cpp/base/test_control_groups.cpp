// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <climits>
#include <string>
#include <vector>

#include "base/control_groups.hpp"
#include "base/memory.hpp"

using namespace stretto;

namespace {

using Folders = std::vector<std::string>;

// "1 /folder" of each group.
Folders folders(std::string_view cgroup, std::string_view mountinfo, std::string_view controller) {
    Folders result;
    for (const ControlGroup &group : control_groups(cgroup, mountinfo, controller))
        result.push_back(std::to_string(group.version) + " " + group.folder);
    return result;
}

// Files of a machine as they were recorded.
std::string recorded(const char *name) {
    return STRETTO_TEST_DATA "/groups/" + std::string(name);
}

constexpr std::size_t kMiB = 1 << 20;
constexpr char kV2[] = "35 24 0:30 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n";
constexpr char kV1[] = "32 31 0:29 / /g/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                       "33 31 0:32 / /g/memory rw master:3 shared:4 - cgroup cgroup rw,memory\n";

} // namespace

TEST_CASE("control groups, from the inner one to the mount point") {
    CHECK(folders("0::/a/b.scope\n", kV2, "memory") ==
          Folders{"2 /sys/fs/cgroup/a/b.scope", "2 /sys/fs/cgroup/a", "2 /sys/fs/cgroup"});
    CHECK(folders("0::/", kV2, "cpu") == Folders{"2 /sys/fs/cgroup"});
    CHECK(folders("5:memory:/x\n3:cpu,cpuacct:/y:z\n", kV1, "memory") ==
          Folders{"1 /g/memory/x", "1 /g/memory"});
    CHECK(folders("5:memory:/x\n3:cpu,cpuacct:/y:z\n", kV1, "cpu") ==
          Folders{"1 /g/cpu,cpuacct/y:z", "1 /g/cpu,cpuacct"});
    CHECK(folders("5:memory:/x\n", kV2, "memory").empty()); // not mounted
    CHECK(folders("3:cpuset:/x\n", kV1, "cpu").empty());
    CHECK(folders("", kV2, "memory").empty());
    CHECK(folders("0::/a", "", "memory").empty());
    CHECK(folders("0::", kV2, "memory").empty());
}

TEST_CASE("a container sees its group as the root of a mount") {
    constexpr char kMounts[] = "33 31 0:32 /docker/4f /g/memory rw - cgroup cgroup rw,memory\n";
    CHECK(folders("5:memory:/docker/4f", kMounts, "memory") == Folders{"1 /g/memory"});
    CHECK(folders("5:memory:/docker/4f/x", kMounts, "memory") ==
          Folders{"1 /g/memory/x", "1 /g/memory"});
    // "/docker/4" is the beginning of the name of another group.
    const std::string two =
        std::string(kMounts) + "34 31 0:32 /docker/4 /other/memory rw - cgroup cgroup rw,memory\n";
    CHECK(folders("5:memory:/docker/4f/x", two, "memory") ==
          Folders{"1 /g/memory/x", "1 /g/memory"});
    // Moved out of the container's namespace: its own group is not mounted.
    CHECK(folders("0::/../other", kV2, "memory") == Folders{"2 /sys/fs/cgroup"});
    CHECK(folders("5:memory:/elsewhere", kMounts, "memory") == Folders{"1 /g/memory"});
    CHECK(folders("5:memory:/elsewhere", two, "memory").empty());
}

TEST_CASE("limits of a group") {
    CHECK(room_of("100\n", "30\n", "") == 70);
    CHECK(room_of("100\n", "130\n", "") == 0);
    CHECK(room_of("100\n", "99\n", "inactive_file 50\nactive_file 7\nslab_reclaimable 3\n") == 61);
    CHECK(room_of("100\n", "99\n", "inactive_file 1\ntotal_inactive_file 50\n") == 51);
    CHECK(room_of("100\n", "99\n", "inactive_file 200\n") == 100);
    CHECK(room_of("100\n", "99\n", "inactive_file 18446744073709551615\nactive_file 9\n") == 100);
    CHECK_FALSE(room_of("max\n", "30\n", ""));
    CHECK_FALSE(room_of("9223372036854771712\n", "30\n", "")); // none, in version 1
    CHECK_FALSE(room_of("100\n", "", ""));
    CHECK(cores_of("150000 100000\n") == 2);
    CHECK(cores_of("200000 100000\n") == 2);
    CHECK(cores_of("1000 100000\n") == 1);
    CHECK(cores_of("18446744073709551615 1\n") == UINT_MAX);
    CHECK_FALSE(cores_of("max 100000\n"));
    CHECK_FALSE(cores_of("-1\n 100000\n"));
    CHECK_FALSE(cores_of("100000 0\n"));
    CHECK_FALSE(cores_of("100000"));
}

TEST_CASE("page cache is room") {
    CHECK(available_memory(recorded("v2_page_cache")) == (400 - 390 + 250 + 50 + 4) * kMiB);
    CHECK(cores_left_by_groups(recorded("v2_page_cache")) == 2);
    CHECK(available_memory(recorded("v1_container")) == (400 - 399 + 300 + 20) * kMiB);
    CHECK(cores_left_by_groups(recorded("v1_container")) == 3);
}

TEST_CASE("the group with the least room counts, including groups above") {
    CHECK(available_memory(recorded("v2_nested")) == (1000 - 900 + 10) * kMiB);
    CHECK(cores_left_by_groups(recorded("v2_nested")) == 3);
    CHECK(available_memory(recorded("v1_nested")) == (600 - 500 + 50) * kMiB);
    CHECK(cores_left_by_groups(recorded("v1_nested")) == 1);
}

TEST_CASE("no limit and unknown values give no number") {
    CHECK_FALSE(memory_left_by_groups(recorded("v1_unlimited")));
    CHECK_FALSE(cores_left_by_groups(recorded("v1_unlimited")));
    CHECK(available_memory(recorded("v1_unlimited")) == 20480 * kMiB); // the machine's
    CHECK_FALSE(available_memory(recorded("v2_usage_hidden")));        // nor is there meminfo
    CHECK_FALSE(available_memory("/no/such/folder"));
}
