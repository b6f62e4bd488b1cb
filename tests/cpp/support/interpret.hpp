// SPDX-License-Identifier: BSD-3-Clause
// A second opinion on schedules: runs them on numbers instead of expression trees.
//
// It shares nothing with the verifier but the data structures: it finds order and partners straight
// from the definitions in schedule.hpp, pair by pair, and lets a seeded random choice decide which
// of the possible events happens next.  Only for small schedules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"
#include "support/numbers.hpp"

namespace stretto::test {

class Interpreter {
public:
    Interpreter(const Schedule &schedule, std::int32_t token_value, std::uint64_t seed)
        : schedule_(schedule), random_(seed), cells_(size(schedule.ranks)),
          knows_(size(schedule.ranks), true) {
        for (Position p = 0; p < schedule.ranks; ++p) {
            const Program program = schedule.program(p);
            gate_.push_back(differ(program.suffixes) ? program.ops.size() : SIZE_MAX);
            if (program.suffixes.empty() || size(token_value) < program.suffixes.size())
                paths_.push_back(path(program, token_value));
            else
                fault("no suffix for the token");
            open_.push_back(program.open);
            for (Block b = 0; b < schedule.blocks(); ++b)
                if (const auto atom = schedule.contract.start(p, b))
                    cells_[size(p)][{kWork, b}] = contribution(atom->from, atom->block);
        }
        if (schedule.token && schedule.token->arbiter >= 0)
            for (Position p = 0; p < schedule.ranks; ++p)
                knows_[size(p)] = p == schedule.token->arbiter && schedule.token->issued_after == 0;
    }

    Outcome run() {
        if (fault_.empty())
            check_ranges();
        if (fault_.empty())
            pair_messages();
        if (fault_.empty())
            find_order();
        while (fault_.empty() && step())
            ;
        if (fault_.empty() && done_ < total())
            fault("deadlock");
        Outcome outcome{fault_, {}};
        for (const auto &cells : cells_) {
            outcome.work.emplace_back();
            for (const auto &[cell, value] : cells)
                if (cell.first == kWork)
                    outcome.work.back()[cell.second] = value;
        }
        return outcome;
    }

private:
    using Cell = std::pair<Slot, Block>;
    using Ref = std::pair<std::size_t, std::size_t>; // position, index
    enum class State { idle, issued, complete };

    static std::size_t size(std::int32_t value) { return static_cast<std::size_t>(value); }
    static bool differ(const std::vector<std::vector<Op>> &suffixes) {
        return std::any_of(suffixes.begin(), suffixes.end(),
                           [&](const auto &suffix) { return suffix != suffixes.front(); });
    }
    static const std::vector<Block> &targets(const Op &op) {
        return op.targets.empty() ? op.blocks : op.targets;
    }

    void fault(const std::string &what) {
        if (fault_.empty())
            fault_ = what;
    }
    std::size_t total() const {
        std::size_t ops = 0;
        for (const auto &ops_of : paths_)
            ops += ops_of.size();
        return ops;
    }
    const Op &op(Ref ref) const { return paths_[ref.first][ref.second]; }

    void check_ranges() {
        for (std::size_t p = 0; p < paths_.size(); ++p)
            for (const Op &op : paths_[p]) {
                const bool message = op.kind == OpKind::send || op.kind == OpKind::recv;
                if (message && (op.peer < 0 || op.peer >= schedule_.ranks || size(op.peer) == p))
                    fault("bad peer");
                for (const auto *labels : {&op.blocks, &targets(op)})
                    for (const Block block : *labels)
                        if (block < 0 || block >= schedule_.blocks())
                            fault("bad block");
                if (targets(op).size() != op.blocks.size())
                    fault("bad targets");
            }
    }

    void pair_messages() {
        using Channel = std::tuple<std::size_t, std::size_t, Lane>;
        std::map<Channel, std::vector<Ref>> sends, recvs;
        for (std::size_t p = 0; p < paths_.size(); ++p)
            for (std::size_t i = 0; i < paths_[p].size(); ++i) {
                const Op &here = paths_[p][i];
                if (here.kind == OpKind::send)
                    sends[{p, size(here.peer), here.lane}].push_back({p, i});
                if (here.kind == OpKind::recv)
                    recvs[{size(here.peer), p, here.lane}].push_back({p, i});
            }
        for (const auto *side : {&sends, &recvs})
            for (const auto &[channel, refs] : *side)
                if (sends[channel].size() != recvs[channel].size())
                    return fault("unmatched");
        for (const auto &[channel, refs] : sends)
            for (std::size_t k = 0; k < refs.size(); ++k) {
                const Ref send = refs[k], recv = recvs[channel][k];
                partner_[send] = recv;
                partner_[recv] = send;
                compare_sizes(op(send).blocks, op(recv).blocks);
            }
    }

    void compare_sizes(const std::vector<Block> &a, const std::vector<Block> &b) {
        if (a.size() != b.size())
            return fault("sizes differ");
        if (a == b)
            return;
        for (const std::size_t multiple : {1, 2, 5, 7, 11, 1009}) {
            const auto bounds =
                schedule_.partition.bounds(multiple * schedule_.partition.quantum());
            for (std::size_t i = 0; i < a.size(); ++i)
                if (bounds[size(a[i]) + 1] - bounds[size(a[i])] !=
                    bounds[size(b[i]) + 1] - bounds[size(b[i])])
                    return fault("sizes differ");
        }
    }

    static void touched(const Op &op, std::set<Cell> &reads, std::set<Cell> &writes) {
        for (std::size_t k = 0; k < op.blocks.size(); ++k) {
            if (op.from != kNoSlot)
                reads.insert({op.from, op.blocks[k]});
            for (const Slot source : op.sources)
                reads.insert({source, op.blocks[k]});
            if (op.into != kNoSlot)
                writes.insert({op.into, targets(op)[k]});
        }
    }

    static bool meet(const std::set<Cell> &a, const std::set<Cell> &b) {
        return std::any_of(a.begin(), a.end(), [&](const Cell &cell) { return b.contains(cell); });
    }

    // Ordered if and only if they touch the same cell and one writes it; windows; `after`.
    void find_order() {
        for (std::size_t p = 0; p < paths_.size(); ++p) {
            const std::vector<Op> &ops = paths_[p];
            std::vector<std::set<Cell>> reads(ops.size()), writes(ops.size());
            std::vector<std::size_t> recvs, sends;
            waits_.emplace_back(ops.size());
            states_.emplace_back(ops.size(), State::idle);
            for (std::size_t i = 0; i < ops.size(); ++i) {
                touched(ops[i], reads[i], writes[i]);
                for (std::size_t j = 0; j < i; ++j) {
                    if (ops[i].group > 0 && ops[i].group == ops[j].group)
                        continue;
                    if (meet(writes[i], writes[j]) || meet(reads[i], writes[j]) ||
                        meet(writes[i], reads[j]))
                        waits_[p][i].push_back(j);
                }
                for (const std::int32_t earlier : ops[i].after) {
                    if (earlier < 0 || size(earlier) >= i)
                        return fault("bad after");
                    waits_[p][i].push_back(size(earlier));
                }
                if (ops[i].kind == OpKind::recv)
                    window(recvs, open_[p].recv, i, waits_[p][i]);
                if (ops[i].kind == OpKind::send)
                    window(sends, open_[p].send, i, waits_[p][i]);
            }
        }
    }

    void window(std::vector<std::size_t> &issued, std::int32_t open, std::size_t index,
                std::vector<std::size_t> &waits) {
        if (open < 0)
            return fault("bad window");
        if (open > 0 && issued.size() >= size(open))
            waits.push_back(issued[issued.size() - size(open)]);
        issued.push_back(index);
    }

    bool may_issue(Ref ref) const {
        if (states_[ref.first][ref.second] != State::idle)
            return false;
        if (ref.second >= gate_[ref.first] && !knows_[ref.first])
            return false;
        const auto &waits = waits_[ref.first][ref.second];
        return std::all_of(waits.begin(), waits.end(), [&](std::size_t earlier) {
            return states_[ref.first][earlier] == State::complete;
        });
    }

    // Lets one possible event happen, any one; false if there is none.
    bool step() {
        std::vector<Ref> issues, completions;
        for (std::size_t p = 0; p < paths_.size(); ++p)
            for (std::size_t i = 0; i < paths_[p].size(); ++i) {
                const Ref ref{p, i};
                if (may_issue(ref))
                    issues.push_back(ref);
                if (states_[p][i] != State::issued || op(ref).kind == OpKind::recv)
                    continue;
                if (op(ref).kind == OpKind::send) {
                    const Ref recv = partner_.at(ref);
                    if (states_[recv.first][recv.second] != State::issued)
                        continue;
                }
                completions.push_back(ref);
            }
        const std::size_t events = issues.size() + completions.size();
        if (events == 0)
            return false;
        const std::size_t chosen = random_() % events;
        if (chosen < issues.size())
            issue(issues[chosen]);
        else
            complete(completions[chosen - issues.size()]);
        return true;
    }

    void issue(Ref ref) {
        states_[ref.first][ref.second] = State::issued;
        if (knows_[ref.first])
            carrying_.insert(ref);
    }

    void complete(Ref ref) {
        const Op &here = op(ref);
        if (here.kind == OpKind::send) {
            const Ref recv = partner_.at(ref);
            for (std::size_t k = 0; k < here.blocks.size(); ++k)
                receive(recv, k, read(ref.first, here.from, here.blocks[k]));
            finish(ref);
            finish(recv);
            if (carrying_.contains(ref))
                knows_[recv.first] = true;
            return;
        }
        for (std::size_t k = 0; k < here.blocks.size(); ++k) {
            Value value = read(ref.first, here.kind == OpKind::copy ? here.from : here.sources[0],
                               here.blocks[k]);
            for (std::size_t s = 1; s < here.sources.size(); ++s)
                value = operate(value, read(ref.first, here.sources[s], here.blocks[k]));
            cells_[ref.first][{here.into, targets(here)[k]}] = value;
        }
        finish(ref);
    }

    void receive(Ref ref, std::size_t k, const Value &incoming) {
        const Op &here = op(ref);
        Value value = incoming;
        if (here.from != kNoSlot) {
            const Value held = read(ref.first, here.from, here.blocks[k]);
            value = here.side == Side::left ? operate(incoming, held) : operate(held, incoming);
        }
        cells_[ref.first][{here.into, here.blocks[k]}] = value;
    }

    void finish(Ref ref) {
        states_[ref.first][ref.second] = State::complete;
        ++done_;
        if (!schedule_.token || size(schedule_.token->arbiter) != ref.first)
            return;
        const auto &states = states_[ref.first];
        if (std::all_of(states.begin(), states.begin() + schedule_.token->issued_after,
                        [](State state) { return state == State::complete; }))
            knows_[ref.first] = true;
    }

    Value read(std::size_t position, Slot slot, Block block) {
        const auto found = cells_[position].find({slot, block});
        if (found == cells_[position].end()) {
            fault("read before write");
            return {};
        }
        return found->second;
    }

    const Schedule &schedule_;
    std::mt19937_64 random_;
    std::string fault_;
    std::vector<std::vector<Op>> paths_;
    std::vector<Window> open_;
    std::vector<std::size_t> gate_; // the first op that needs the token
    std::vector<std::map<Cell, Value>> cells_;
    std::map<Ref, Ref> partner_;
    std::vector<std::vector<std::vector<std::size_t>>> waits_;
    std::vector<std::vector<State>> states_;
    std::set<Ref> carrying_;
    std::vector<bool> knows_;
    std::size_t done_ = 0;
};

inline Outcome interpret(const Schedule &schedule, std::int32_t token_value, std::uint64_t seed) {
    return Interpreter(schedule, token_value, seed).run();
}

} // namespace stretto::test
