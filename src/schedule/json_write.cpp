// SPDX-License-Identifier: BSD-3-Clause
// The format is docs/schedule-json.md.
#include "schedule/json.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace stretto::schedule {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered write_level(const Partition &partition, std::size_t level) {
    // The levels that equal() cuts are those whose blocks, counted from the outermost level to this
    // one, divide the quantum.
    std::size_t through = 1;
    for (std::size_t l = 0; l <= level; ++l)
        through *= partition.levels()[l].size();
    const std::vector<std::uint64_t> &weights = partition.levels()[level];
    const bool ones = std::all_of(weights.begin(), weights.end(),
                                  [](std::uint64_t weight) { return weight == 1; });
    if (!ones)
        return {{"weights", weights}};
    const bool equal = partition.quantum() > 1 && partition.quantum() % through == 0;
    return {{equal ? "equal" : "even", weights.size()}};
}

Ordered write_contract(const Contract &contract) {
    Ordered json = {{"collective", name(contract.collective())}};
    if (contract.collective() != Collective::custom) {
        json["root"] = contract.root();
        return json;
    }
    Ordered start = Ordered::array(), end = Ordered::array();
    for (Position p = 0; p < contract.ranks(); ++p) {
        Ordered start_row = Ordered::array(), end_row = Ordered::array();
        for (Block b = 0; b < contract.blocks(); ++b) {
            const auto atom = contract.start(p, b);
            start_row.push_back(atom ? Ordered{{"from", atom->from}, {"block", atom->block}}
                                     : Ordered());
            const auto goal = contract.end(p, b);
            Ordered entry;
            if (goal && goal->from)
                entry["from"] = *goal->from;
            if (goal)
                entry["block"] = goal->block;
            end_row.push_back(std::move(entry));
        }
        start.push_back(std::move(start_row));
        end.push_back(std::move(end_row));
    }
    json["start"] = std::move(start);
    json["end"] = std::move(end);
    return json;
}

Ordered write_op(const Op &op) {
    Ordered json;
    switch (op.kind) {
    case OpKind::send:
        json = {{"op", "send"}, {"peer", op.peer}, {"blocks", op.blocks}, {"from", op.from}};
        break;
    case OpKind::recv:
        json = {{"op", "recv"}, {"peer", op.peer}, {"blocks", op.blocks}, {"into", op.into}};
        if (op.from != kNoSlot) {
            json["with"] = op.from;
            json["side"] = op.side == Side::left ? "left" : "right";
        }
        if (op.group != 0)
            json["group"] = op.group;
        break;
    case OpKind::reduce:
        json = {
            {"op", "reduce"}, {"sources", op.sources}, {"blocks", op.blocks}, {"into", op.into}};
        break;
    case OpKind::copy:
        json = {{"op", "copy"}, {"blocks", op.blocks}, {"from", op.from}, {"into", op.into}};
        if (!op.targets.empty())
            json["targets"] = op.targets;
        break;
    }
    if (op.lane != 0)
        json["lane"] = op.lane;
    if (!op.after.empty())
        json["after"] = op.after;
    return json;
}

// Names come from outside: bytes that are not UTF-8 are replaced.
std::string write_name(const std::string &name) {
    return Ordered(name).dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

// An array with one element on each line, so that schedules can be read and compared line by line.
template<class Items, class Write>
std::string lines(const Items &items, const std::string &indent, Write &&write) {
    std::string text = "[";
    for (std::size_t i = 0; i < items.size(); ++i)
        text += (i == 0 ? "\n" : ",\n") + indent + " " + write(items[i]);
    return text + (items.empty() ? "]" : "\n" + indent + "]");
}

std::string write_ops(const std::vector<Op> &ops, const std::string &indent) {
    return lines(ops, indent, [](const Op &op) { return write_op(op).dump(); });
}

std::string write_program(const Program &program) {
    std::string text = "{";
    if (program.open != Window{})
        text += "\"open\": " +
                Ordered{{"recv", program.open.recv}, {"send", program.open.send}}.dump() + ", ";
    text += "\"ops\": " + write_ops(program.ops, "  ");
    if (!program.suffixes.empty())
        text += ",\n  \"suffixes\": " +
                lines(program.suffixes, "  ",
                      [](const std::vector<Op> &suffix) { return write_ops(suffix, "   "); });
    return text + "}";
}

} // namespace

std::string to_json(const Schedule &schedule) {
    Ordered levels = Ordered::array();
    for (std::size_t level = 0; level < schedule.partition.levels().size(); ++level)
        levels.push_back(write_level(schedule.partition, level));
    std::vector<Program> programs;
    for (Position p = 0; p < schedule.ranks; ++p)
        programs.push_back(schedule.program(p));

    std::string text = "{\"format\": \"stretto-schedule\",\n \"version\": 1,\n \"name\": " +
                       write_name(schedule.name) +
                       ",\n \"ranks\": " + std::to_string(schedule.ranks) +
                       ",\n \"partition\": " + levels.dump() +
                       ",\n \"contract\": " + write_contract(schedule.contract).dump();
    if (schedule.token)
        text += ",\n \"token\": " + Ordered{{"values", schedule.token->values},
                                            {"arbiter", schedule.token->arbiter},
                                            {"issued_after", schedule.token->issued_after}}
                                        .dump();
    if (schedule.symmetry)
        text += ",\n \"symmetry\": " + Ordered(schedule.symmetry->orders()).dump();
    if (schedule.topology.known())
        text += ",\n \"hosts\": " + Ordered(schedule.topology.host_of()).dump();
    if (!schedule.topology.cache_of().empty())
        text += ",\n \"caches\": " + Ordered(schedule.topology.cache_of()).dump();
    text += ",\n \"programs\": " + lines(programs, " ", write_program);
    return text + "}\n";
}

} // namespace stretto::schedule
