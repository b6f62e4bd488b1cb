// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/machine.hpp"

#include <string>
#include <utility>

#include "base/index.hpp"
#include "base/status.hpp"
#include "schedule/access.hpp"
#include "schedule/groups.hpp"

namespace stretto::schedule {

namespace {

using Node = Expressions::Node;

// Runs `act`; if it fails, the error names the op.
template<class Act>
auto located(const Dataflow &flow, OpRef ref, Act &&act) {
    try {
        return act();
    } catch (const Error &error) {
        throw Error(error.status(), flow.describe(ref) + ": " + error.what());
    }
}

} // namespace

Machine::Machine(const Contract &contract, const Dataflow &flow, Expressions &trees)
    : flow_(flow), trees_(trees), cells_(at(flow.ranks())), pending_(at(flow.ranks())) {
    for (Position p = 0; p < flow.ranks(); ++p) {
        groups_.push_back(groups(p, flow.paths()[at(p)]));
        for (Block b = 0; b < contract.blocks(); ++b)
            if (const auto atom = contract.start(p, b))
                write(p, kWork, b, trees.leaf(*atom));
    }
}

void Machine::message(OpRef send, OpRef recv) {
    const Op &sent = flow_.op(send), &received = flow_.op(recv);
    for (std::size_t i = 0; i < sent.blocks.size(); ++i)
        arrive(recv, received.blocks[i], read(send, sent.from, sent.blocks[i]));
}

void Machine::local(OpRef ref) {
    const Op &op = flow_.op(ref);
    const std::vector<Block> &targets = targets_of(op);
    for (std::size_t i = 0; i < op.blocks.size(); ++i) {
        Node value = read(ref, op.kind == OpKind::copy ? op.from : op.sources[0], op.blocks[i]);
        for (std::size_t s = 1; s < op.sources.size(); ++s)
            value = combine(ref, value, read(ref, op.sources[s], op.blocks[i]));
        write(ref.position, op.into, targets[i], value);
    }
}

Node Machine::result(Position position, Block block) const {
    const Node *const found = cells_[at(position)].find(cell_key(kWork, block));
    return found == nullptr ? kUndefined : *found;
}

void Machine::arrive(OpRef recv, Block block, Node incoming) {
    const Op &op = flow_.op(recv);
    if (op.from == kNoSlot) {
        write(recv.position, op.into, block, incoming);
        return;
    }
    const Node held = read(recv, op.from, block);
    const std::int32_t members = op.group == 0 ? 1 : groups_[at(recv.position)].at(op.group);
    if (members == 1) {
        const bool left = op.side == Side::left;
        write(recv.position, op.into, block,
              left ? combine(recv, incoming, held) : combine(recv, held, incoming));
        return;
    }
    // The accumulator keeps its first value until all contributions have arrived: no other op
    // touches it.
    std::vector<Node> &operands = pending_[at(recv.position)][cell_key(op.into, block)];
    if (operands.empty())
        operands.push_back(held);
    operands.push_back(incoming);
    if (operands.size() <= at(members))
        return;
    const Node all = located(flow_, recv, [&] {
        return trees_.unordered(recv.position, op.group, block, std::exchange(operands, {}));
    });
    write(recv.position, op.into, block, all);
}

Node Machine::read(OpRef ref, Slot slot, Block block) const {
    const Node *const found = cells_[at(ref.position)].find(cell_key(slot, block));
    if (found == nullptr)
        throw Error(Status::argument, flow_.describe(ref) + ": block " + std::to_string(block) +
                                          " of slot " + std::to_string(slot) +
                                          " is read before anything is written to it");
    return *found;
}

void Machine::write(Position position, Slot slot, Block block, Node value) {
    cells_[at(position)][cell_key(slot, block)] = value;
}

Node Machine::combine(OpRef ref, Node left, Node right) {
    return located(flow_, ref, [&] { return trees_.pair(left, right); });
}

} // namespace stretto::schedule
