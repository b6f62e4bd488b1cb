// SPDX-License-Identifier: BSD-3-Clause
#include "base/control_groups.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>

#include "base/kernel_files.hpp"

namespace stretto {

namespace {

// Takes what stands before `mark` off the text; all of it if there is none.
std::string_view take_until(std::string_view &text, char mark) {
    const std::string_view part = text.substr(0, text.find(mark));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

bool lists(std::string_view names, std::string_view name) {
    while (!names.empty())
        if (take_until(names, ',') == name)
            return true;
    return false;
}

// In mountinfo a space is "\040".
std::string unescaped(std::string_view text) {
    const auto digit = [&](std::size_t at) {
        return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\\' && digit(at + 1) >= 0 && digit(at + 1) < 4 && digit(at + 2) >= 0 &&
            digit(at + 3) >= 0) {
            result += static_cast<char>(64 * digit(at + 1) + 8 * digit(at + 2) + digit(at + 3));
            at += 3;
        } else {
            result += text[at];
        }
    }
    return result;
}

struct Mount {
    std::string root, point; // `root` of the hierarchy is seen at `point`
};

// Lines are "36 35 0:31 ROOT POINT options tags - TYPE source OPTIONS".
std::vector<Mount> mounts_of(std::string_view mountinfo, int version, std::string_view controller) {
    std::vector<Mount> mounts;
    while (!mountinfo.empty()) {
        std::string_view line = take_until(mountinfo, '\n');
        const std::size_t dash = line.find(" - ");
        if (dash == std::string_view::npos)
            continue;
        std::string_view after = line.substr(dash + 3);
        const std::string_view type = take_until(after, ' ');
        take_until(after, ' ');
        if (version == 2 ? type != "cgroup2" : type != "cgroup" || !lists(after, controller))
            continue;
        for (int field = 0; field < 3; ++field)
            take_until(line, ' ');
        const std::string_view root = take_until(line, ' ');
        mounts.push_back({unescaped(root), unescaped(take_until(line, ' '))});
    }
    return mounts;
}

// "/a/b" lies in "/a", in "/a/b" and in "/", but not in "/a/".
bool lies_in(std::string_view path, std::string_view root) {
    return root == "/" || path == root ||
           (path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/');
}

void add_groups(std::vector<ControlGroup> &groups, const Mount &mount, std::string_view below,
                int version) {
    // If a process was moved out of its container's namespace, its path begins with "/../": its
    // group lies above the mounted tree.
    if (below == "/.." || below.starts_with("/../"))
        below = {};
    while (!below.empty()) {
        if (below.back() != '/')
            groups.push_back({mount.point + std::string(below), version});
        below.remove_suffix(below.size() - below.rfind('/'));
    }
    groups.push_back({mount.point, version});
}

} // namespace

std::vector<ControlGroup> control_groups(std::string_view cgroup, std::string_view mountinfo,
                                         std::string_view controller) {
    std::vector<ControlGroup> groups;
    // Lines are "4:cpu,cpuacct:/path" in version 1 and "0::/path" in version 2.
    while (!cgroup.empty()) {
        std::string_view path = take_until(cgroup, '\n');
        const std::string_view number = take_until(path, ':');
        const std::string_view controllers = take_until(path, ':');
        const int version = number == "0" && controllers.empty() ? 2 : 1;
        if (!path.starts_with('/') || (version == 1 && !lists(controllers, controller)))
            continue;
        const std::vector<Mount> mounts = mounts_of(mountinfo, version, controller);
        bool found = false;
        for (const Mount &mount : mounts)
            if (lies_in(path, mount.root)) {
                add_groups(groups, mount, path.substr(mount.root == "/" ? 0 : mount.root.size()),
                           version);
                found = true;
            }
        // The mounted group has another name.  If it is the only one, it is a group of this process
        // all the same.
        if (!found && mounts.size() == 1)
            add_groups(groups, mounts.front(), "", version);
    }
    return groups;
}

std::size_t reclaimable_of(std::string_view stat) {
    std::size_t sum = 0;
    const auto add = [&](std::string_view key) {
        auto line = line_after(stat, key);
        const auto bytes = line ? next_number<std::size_t>(*line) : std::nullopt;
        if (bytes)
            sum = *bytes > SIZE_MAX - sum ? SIZE_MAX : sum + *bytes;
        return bytes.has_value();
    };
    // In version 1, numbers that begin with "total_" include the groups below; in version 2 all
    // numbers do.
    if (!add("total_inactive_file "))
        add("inactive_file ");
    if (!add("total_active_file "))
        add("active_file ");
    add("slab_reclaimable ");
    return sum;
}

std::optional<std::size_t> room_of(std::string_view limit, std::string_view used,
                                   std::string_view stat) {
    constexpr std::size_t kNoLimitBytes = std::size_t{1} << 62; // version 1 says 2^63 less a page
    const auto most = next_number<std::size_t>(limit);          // "max" is none
    const auto taken = next_number<std::size_t>(used);
    if (!most || !taken || *most >= kNoLimitBytes)
        return std::nullopt;
    const std::size_t held = *taken - std::min(*taken, reclaimable_of(stat));
    return *most > held ? *most - held : 0;
}

std::optional<unsigned> cores_of(std::string_view quota_and_period) {
    // "max 100000" and "-1 100000" mean that there is no quota.
    const auto quota = next_number<std::uint64_t>(quota_and_period);
    const auto period = next_number<std::uint64_t>(quota_and_period);
    if (!quota || !period || *period == 0)
        return std::nullopt;
    const std::uint64_t cores = *quota / *period + (*quota % *period != 0 ? 1 : 0);
    return static_cast<unsigned>(std::min<std::uint64_t>(cores, UINT_MAX));
}

namespace {

// The least value that `of` gives for a group that limits the controller.
template<class Value, class Of>
std::optional<Value> least(const std::string &root, std::string_view controller, Of of) {
    std::optional<Value> found;
    for (const ControlGroup &group :
         control_groups(contents(root + "/proc/self/cgroup"),
                        contents(root + "/proc/self/mountinfo"), controller))
        if (const std::optional<Value> value = of(root + group.folder + "/", group.version))
            found = std::min(found.value_or(*value), *value);
    return found;
}

} // namespace

std::optional<std::size_t> memory_left_by_groups(const std::string &root) {
    return least<std::size_t>(root, "memory", [](const std::string &folder, int version) {
        const std::string stat = contents(folder + "memory.stat");
        if (version == 2)
            return room_of(contents(folder + "memory.max"), contents(folder + "memory.current"),
                           stat);
        const std::string used = contents(folder + "memory.usage_in_bytes");
        const auto room = room_of(contents(folder + "memory.limit_in_bytes"), used, stat);
        // The kernel's own answer: the least limit of all groups above, including groups that a
        // container does not see.
        const auto above = line_after(stat, "hierarchical_memory_limit ");
        const auto under = above ? room_of(*above, used, stat) : std::nullopt;
        return room && under ? std::min(room, under) : room ? room : under;
    });
}

std::optional<unsigned> cores_left_by_groups(const std::string &root) {
    return least<unsigned>(root, "cpu", [](const std::string &folder, int version) {
        return cores_of(version == 1 ? contents(folder + "cpu.cfs_quota_us") + " " +
                                           contents(folder + "cpu.cfs_period_us")
                                     : contents(folder + "cpu.max"));
    });
}

} // namespace stretto
