// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <string>
#include <vector>

#include "schedule/access.hpp"
#include "schedule/json.hpp"

namespace stretto::schedule {

namespace {

std::string slot_name(Slot slot) {
    return slot == kWork ? "work" : std::string(1, 's') + std::to_string(slot);
}

// 0 1 2 3 7 as "[0-3,7]".
std::string labels(const std::vector<Block> &blocks) {
    std::string text = "[";
    for (std::size_t i = 0; i < blocks.size();) {
        std::size_t j = i;
        while (j + 1 < blocks.size() && blocks[j + 1] == blocks[j] + 1)
            ++j;
        text.append(i == 0 ? "" : ",").append(std::to_string(blocks[i]));
        if (j > i)
            text.append(j == i + 1 ? "," : "-").append(std::to_string(blocks[j]));
        i = j + 1;
    }
    return text + "]";
}

std::string reduction(const std::string &left, const std::string &right) {
    return left + " op " + right;
}

std::string received(const Op &op) {
    std::string text = "recv from " + std::to_string(op.peer) + ": " + slot_name(op.into) +
                       labels(op.blocks) + " = ";
    if (op.from == kNoSlot)
        return text + "incoming";
    const std::string held = slot_name(op.from);
    return text +
           (op.side == Side::left ? reduction("incoming", held) : reduction(held, "incoming"));
}

std::string body(const Op &op) {
    switch (op.kind) {
    case OpKind::send:
        return "send to " + std::to_string(op.peer) + ": " + slot_name(op.from) + labels(op.blocks);
    case OpKind::recv: return received(op);
    case OpKind::reduce: {
        std::string text = "reduce: " + slot_name(op.into) + labels(op.blocks) + " = ";
        for (std::size_t i = 0; i < op.sources.size(); ++i)
            text.append(i == 0 ? "" : " op ").append(slot_name(op.sources[i]));
        return text;
    }
    case OpKind::copy:
        return "copy: " + slot_name(op.into) + labels(targets_of(op)) + " = " + slot_name(op.from) +
               labels(op.blocks);
    }
    return "";
}

void append(std::string &text, const std::vector<Op> &ops, std::size_t first) {
    for (std::size_t i = 0; i < ops.size(); ++i)
        text += "    " + std::to_string(first + i) + "  " + to_text(ops[i]) + "\n";
}

} // namespace

std::string to_text(const Op &op) {
    std::string text = body(op);
    if (op.lane != 0)
        text += " lane " + std::to_string(op.lane);
    if (op.group != 0)
        text += " group " + std::to_string(op.group);
    for (std::size_t i = 0; i < op.after.size(); ++i)
        text.append(i == 0 ? " after " : ",").append(std::to_string(op.after[i]));
    return text;
}

std::string to_text(const Schedule &schedule) {
    std::string text =
        schedule.name + ": " + std::string(name(schedule.contract.collective())) + ", " +
        std::to_string(schedule.ranks) + " positions, " + std::to_string(schedule.blocks()) +
        " blocks" + (schedule.topology.known() ? ", hosts " + schedule.topology.text() : "") + "\n";
    if (schedule.token) {
        const Token &token = *schedule.token;
        text += "token of " + std::to_string(token.values) + " values, " +
                (token.arbiter < 0 ? std::string("elected")
                                   : "from position " + std::to_string(token.arbiter) + " after " +
                                         std::to_string(token.issued_after) + " ops") +
                "\n";
    }
    for (Position p = 0; p < schedule.ranks; ++p) {
        const Program program = schedule.program(p);
        text += "position " + std::to_string(p);
        if (program.open.recv > 0)
            text += ", open receives " + std::to_string(program.open.recv);
        if (program.open.send > 0)
            text += ", open sends " + std::to_string(program.open.send);
        text += "\n";
        append(text, program.ops, 0);
        for (std::size_t v = 0; v < program.suffixes.size(); ++v) {
            text += "  token value " + std::to_string(v) + "\n";
            append(text, program.suffixes[v], program.ops.size());
        }
    }
    return text;
}

} // namespace stretto::schedule
