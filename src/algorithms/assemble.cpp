// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/assemble.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stretto::algorithms {

std::optional<Group> hypercube(Position ranks) {
    if (!power_of_two(ranks))
        return std::nullopt;
    return Group(std::vector<Position>(static_cast<std::size_t>(log2_floor(ranks)), 2));
}

Schedule assemble(Collective collective, const Problem &problem, Partition partition,
                  std::optional<Group> symmetry, Generator generate) {
    Schedule made;
    made.ranks = problem.ranks;
    made.contract = {collective, problem.ranks, partition.blocks(), problem.root};
    made.partition = std::move(partition);
    if (problem.shares.empty())
        made.symmetry = std::move(symmetry);
    made.program = [ranks = problem.ranks, generate = std::move(generate)](Position position) {
        schedule::Program program;
        if (ranks > 1)
            generate(program.ops, position);
        return program;
    };
    return made;
}

Schedule alike(Schedule made, bool holds) {
    made.alike = holds && made.symmetry.has_value();
    return made;
}

Schedule alike(Schedule made, Relative relative) {
    made.alike = made.symmetry.has_value();
    if (made.alike)
        made.relative = std::move(relative);
    return made;
}

bool alike_by_place(const Schedule &made) {
    const std::vector<Op> ops = made.program(0).ops;
    return made.alike && (!made.relative || std::all_of(ops.begin(), ops.end(), [](const Op &op) {
               return op.blocks.size() <= 1;
           }));
}

Schedule alike_by_owner(Schedule made, bool holds) {
    if (!holds || !made.symmetry)
        return made;
    // Made before the call: a compiler may move `made` into its argument before it reads another.
    Relative relative = [symmetry = *made.symmetry, owned = made.blocks() / made.ranks](Position p,
                                                                                        Block b) {
        return owned == 0 ? b : symmetry.difference(b / owned, p) * owned + b % owned;
    };
    return alike(std::move(made), std::move(relative));
}

Partition by_owner(const Problem &problem) {
    const bool empty = std::all_of(problem.shares.begin(), problem.shares.end(),
                                   [](std::uint64_t share) { return share == 0; });
    return empty ? Partition::even(problem.ranks) : Partition::weighted(problem.shares);
}

Blocks consecutive(Block first, Block size) {
    Blocks blocks(static_cast<std::size_t>(size));
    std::iota(blocks.begin(), blocks.end(), first);
    return blocks;
}

Block parameter(const Problem &problem, const char *name) {
    return static_cast<Block>(problem.parameters.at(name).front());
}

} // namespace stretto::algorithms
