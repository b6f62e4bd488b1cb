// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/bind.hpp"

#include <string>
#include <utility>

#include "base/status.hpp"

namespace stretto::schedule {

namespace {

// The rank at each position, repeated once for each block that the position owns; 0: no position
// owns blocks.
struct Names {
    std::vector<Position> rank_at;
    Block owned;

    void rename(std::vector<Block> &blocks) const {
        for (Block &block : blocks)
            block = rank_at[static_cast<std::size_t>(block / owned)] * owned + block % owned;
    }
    void rename(std::vector<Op> &ops) const {
        for (Op &op : ops) {
            if (op.peer >= 0)
                op.peer = rank_at[static_cast<std::size_t>(op.peer)];
            if (owned > 0) {
                rename(op.blocks);
                rename(op.targets);
            }
        }
    }
};

} // namespace

Schedule bind(Schedule schedule, std::vector<Position> order) {
    const Collective collective = schedule.contract.collective();
    const Position root = schedule.contract.root();
    const auto contract = [&](Position who) {
        return Contract(collective, schedule.ranks, schedule.blocks(), who);
    };
    if (schedule.contract != contract(root))
        throw Error(Status::argument, "bind: in '" + schedule.name + "' all positions differ");
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
    schedule.symmetry.reset(); // the hash was of positions
    schedule.topology = schedule.topology.ordered(position_of);
    if (rooted(collective))
        schedule.contract = contract(order[static_cast<std::size_t>(root)]);
    const bool parts = in_parts(collective);
    const Names names{std::move(order), parts ? schedule.blocks() / schedule.ranks : 0};
    schedule.program = [program = std::move(schedule.program), names,
                        position_of = std::move(position_of)](Position rank) {
        Program bound = program(position_of[static_cast<std::size_t>(rank)]);
        names.rename(bound.ops);
        for (std::vector<Op> &suffix : bound.suffixes)
            names.rename(suffix);
        return bound;
    };
    return schedule;
}

} // namespace stretto::schedule
