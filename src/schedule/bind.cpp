// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/bind.hpp"

#include <string>
#include <utility>

#include "base/status.hpp"

namespace stretto::schedule {

namespace {

void rename(std::vector<Op> &ops, const std::vector<Position> &rank_at) {
    for (Op &op : ops)
        if (op.peer >= 0)
            op.peer = rank_at[static_cast<std::size_t>(op.peer)];
}

} // namespace

Schedule bind(Schedule schedule, std::vector<Position> order) {
    if (schedule.contract !=
            Contract(schedule.contract.collective(), schedule.ranks, schedule.blocks()) ||
        rooted(schedule.contract.collective()) || in_parts(schedule.contract.collective()))
        throw Error(Status::argument,
                    "bind: in '" + schedule.name + "' positions have parts or a root of their own");
    std::vector<Position> position_of(order.size(), -1);
    bool is_permutation = order.size() == static_cast<std::size_t>(schedule.ranks);
    for (std::size_t p = 0; is_permutation && p < order.size(); ++p) {
        const Position rank = order[p];
        is_permutation = rank >= 0 && rank < schedule.ranks &&
                         std::exchange(position_of[static_cast<std::size_t>(rank)],
                                       static_cast<Position>(p)) == -1;
    }
    if (!is_permutation)
        throw Error(Status::argument, "bind: the order is no permutation of the " +
                                          std::to_string(schedule.ranks) + " positions of '" +
                                          schedule.name + "'");
    if (schedule.token && schedule.token->arbiter >= 0)
        schedule.token->arbiter = order[static_cast<std::size_t>(schedule.token->arbiter)];
    schedule.symmetry.reset(); // it was of positions
    schedule.program = [program = std::move(schedule.program), order = std::move(order),
                        position_of = std::move(position_of)](Position rank) {
        Program bound = program(position_of[static_cast<std::size_t>(rank)]);
        rename(bound.ops, order);
        for (std::vector<Op> &suffix : bound.suffixes)
            rename(suffix, order);
        return bound;
    };
    return schedule;
}

} // namespace stretto::schedule
