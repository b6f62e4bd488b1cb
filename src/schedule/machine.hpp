// SPDX-License-Identifier: BSD-3-Clause
// Symbolic execution: the value of every block as an expression tree, while a schedule is played.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/number_map.hpp"
#include "schedule/dataflow.hpp"
#include "schedule/expression.hpp"

namespace stretto::schedule {

inline constexpr Expressions::Node kUndefined = -1;

// Throws Error(argument) that names the op if an op reads a block that was never written, mixes
// input blocks or counts a contribution twice, or if an unordered group is not valid.
class Machine : public Dataflow::Observer {
public:
    // All three outlive the machine.
    Machine(const Contract &contract, const Dataflow &flow, Expressions &trees);

    void message(OpRef send, OpRef recv) override;
    void local(OpRef ref) override;

    // The tree that a block of the work slot holds, or kUndefined.
    Expressions::Node result(Position position, Block block) const;

private:
    using Node = Expressions::Node;

    void arrive(OpRef recv, Block block, Node incoming);
    Node read(OpRef ref, Slot slot, Block block) const;
    void write(Position position, Slot slot, Block block, Node value);
    Node combine(OpRef ref, Node left, Node right);

    const Dataflow &flow_;
    Expressions &trees_;
    // Per position, by cell.
    std::vector<NumberMap<Node>> cells_;
    std::vector<NumberMap<std::vector<Node>>> pending_; // of groups
    // Per position: the number of receives of each group.
    std::vector<std::map<std::int32_t, std::int32_t>> groups_;
};

} // namespace stretto::schedule
