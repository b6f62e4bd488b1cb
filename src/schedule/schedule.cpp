// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule.hpp"

#include <string>
#include <utility>

#include "base/status.hpp"

namespace stretto::schedule {

Op send(Position to, std::vector<Block> blocks, Slot from, Lane lane) {
    Op op;
    op.kind = OpKind::send;
    op.peer = to;
    op.blocks = std::move(blocks);
    op.from = from;
    op.lane = lane;
    return op;
}

Op recv(Position source, std::vector<Block> blocks, Slot into, Lane lane) {
    Op op;
    op.kind = OpKind::recv;
    op.peer = source;
    op.blocks = std::move(blocks);
    op.into = into;
    op.lane = lane;
    return op;
}

Op recv_reduce(Position source, std::vector<Block> blocks, Side side, Slot with, Slot into,
               Lane lane) {
    Op op = recv(source, std::move(blocks), into, lane);
    op.side = side;
    op.from = with;
    return op;
}

Op reduce(std::vector<Slot> sources, std::vector<Block> blocks, Slot into) {
    Op op;
    op.kind = OpKind::reduce;
    op.sources = std::move(sources);
    op.blocks = std::move(blocks);
    op.into = into;
    return op;
}

Op copy(std::vector<Block> blocks, Slot from, Slot into) {
    Op op;
    op.kind = OpKind::copy;
    op.blocks = std::move(blocks);
    op.from = from;
    op.into = into;
    return op;
}

std::vector<Op> path(const Program &program, std::int32_t value) {
    std::vector<Op> ops = program.ops;
    if (program.suffixes.empty())
        return ops;
    if (value < 0 || static_cast<std::size_t>(value) >= program.suffixes.size())
        throw Error(Status::argument, "token value " + std::to_string(value) +
                                          ": the program has " +
                                          std::to_string(program.suffixes.size()) + " suffixes");
    const std::vector<Op> &suffix = program.suffixes[static_cast<std::size_t>(value)];
    ops.insert(ops.end(), suffix.begin(), suffix.end());
    return ops;
}

} // namespace stretto::schedule
