// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/groups.hpp"

#include <string>

#include "base/number_map.hpp"
#include "base/status.hpp"
#include "schedule/access.hpp"
#include "schedule/json.hpp"

namespace stretto::schedule {

namespace {

struct Group {
    const Op *first = nullptr;
    std::int32_t members = 0;
    std::int32_t left = 0; // not yet passed in program order
};

[[noreturn]] void refuse(Position position, std::size_t index, const Op &op,
                         const std::string &what) {
    throw Error(Status::argument, "position " + std::to_string(position) + ", op " +
                                      std::to_string(index) + " (" + to_text(op) + "): " + what);
}

} // namespace

std::map<std::int32_t, std::int32_t> groups(Position position, const std::vector<Op> &path) {
    std::map<std::int32_t, Group> found;
    for (std::size_t i = 0; i < path.size(); ++i) {
        const Op &op = path[i];
        if (op.group == 0)
            continue;
        Group &group = found[op.group];
        if (group.members == 0)
            group.first = &op;
        else if (op.blocks != group.first->blocks || op.into != group.first->into)
            refuse(position, i, op,
                   "another accumulator than the first receive of group " +
                       std::to_string(op.group) + "; give it a group of its own");
        group.left = ++group.members;
    }

    std::map<std::int32_t, std::int32_t> sizes;
    if (found.empty())
        return sizes;
    NumberMap<std::int32_t> open; // cell -> the last group that wrote it
    for (std::size_t i = 0; i < path.size(); ++i) {
        const Op &op = path[i];
        each_access(op, [&](const Access &access) {
            std::int32_t &group = open[cell_key(access.slot, access.block)];
            if (group != 0 && group != op.group && found[group].left > 0)
                refuse(position, i, op,
                       "touches block " + std::to_string(access.block) + " while group " +
                           std::to_string(group) + " still reduces into it");
            if (op.group != 0)
                group = op.group;
        });
        if (op.group != 0)
            --found[op.group].left;
    }
    for (const auto &[number, group] : found)
        sizes[number] = group.members;
    return sizes;
}

} // namespace stretto::schedule
