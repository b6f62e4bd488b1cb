// SPDX-License-Identifier: BSD-3-Clause
// Breaks correct schedules, one change at a time, and sees whether the verifier notices.
//
//   const MutationTally tally = check_mutants(schedule, 300, seed);
//
// Every mutant must be refused by verify(), or be harmless in truth: whatever verify() accepts is
// also run on numbers (interpret.hpp), in several orders of events, and must compute the contract
// and have the properties that the verdict claims.
//
// Accepted mutants are of two kinds.  `equivalent`: every end has the tree it had (an edge or a
// window that did not matter, a copy done twice, two ops exchanged that were not ordered).
// `harmless`: other trees, yet every contribution counts once (a side, the order of sources or of
// two receives: the operands change places, so the schedule stays right for commutative
// operations and the verdict must no longer call it order-preserving unless it is).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "doctest.h"
#include "schedule/json.hpp"
#include "schedule/verify.hpp"
#include "support/interpret.hpp"
#include "support/schedules.hpp"

namespace stretto::test {

enum class Mutation {
    drop,      // one op
    duplicate, // one op, right behind itself
    swap,      // two ops of a program
    peer,      // of one message op
    lane,      // of one message op
    window,
    slot, // one of those an op reads or writes
    side, // of a reducing receive
    block,
    sources,         // exchange two of a reduction
    group,           // of a reducing receive
    drop_message,    // both of its ops
    double_message,  // both of its ops
    relabel_message, // the same other block on both sides
};

inline constexpr std::array kMutations = {
    Mutation::drop,           Mutation::duplicate,      Mutation::swap,  Mutation::peer,
    Mutation::lane,           Mutation::window,         Mutation::slot,  Mutation::side,
    Mutation::block,          Mutation::sources,        Mutation::group, Mutation::drop_message,
    Mutation::double_message, Mutation::relabel_message};

inline const char *name(Mutation mutation) {
    constexpr std::array names = {"drop",           "duplicate",      "swap",  "peer",
                                  "lane",           "window",         "slot",  "side",
                                  "block",          "sources",        "group", "drop_message",
                                  "double_message", "relabel_message"};
    return names.at(static_cast<std::size_t>(mutation));
}

class Mutator {
public:
    Mutator(const Schedule &schedule, std::uint64_t seed) : original_(schedule), random_(seed) {}

    // A schedule that differs by one such change, or nothing if the place that chance picked does
    // not allow it.
    std::optional<Schedule> mutant(Mutation mutation) {
        programs_ = programs_of(original_);
        Program &program = programs_[pick(programs_.size())];
        std::vector<Op> *ops = pick_ops(program);
        if (mutation == Mutation::window)
            change_window(program);
        else if (ops->empty() || !change(mutation, *ops))
            return std::nullopt;
        if (programs_ == programs_of(original_))
            return std::nullopt;
        return with_programs(original_, programs_);
    }

    std::size_t pick(std::size_t size) { return static_cast<std::size_t>(random_() % size); }

private:
    std::int32_t pick_int(std::int32_t size) {
        return static_cast<std::int32_t>(pick(static_cast<std::size_t>(size)));
    }

    std::vector<Op> *pick_ops(Program &program) {
        const std::size_t list = pick(program.suffixes.size() + 1);
        return list == 0 ? &program.ops : &program.suffixes[list - 1];
    }

    void change_window(Program &program) {
        (pick(2) == 0 ? program.open.recv : program.open.send) = pick_int(4);
    }

    bool change(Mutation mutation, std::vector<Op> &ops) {
        const std::size_t index = pick(ops.size());
        const auto place = ops.begin() + static_cast<std::ptrdiff_t>(index);
        Op &op = ops[index];
        const bool message = op.kind == OpKind::send || op.kind == OpKind::recv;
        const bool reduces = op.kind == OpKind::recv && op.from != kNoSlot;
        switch (mutation) {
        case Mutation::drop: ops.erase(place); return true;
        case Mutation::duplicate: ops.insert(place, Op(op)); return true;
        case Mutation::swap: std::swap(op, ops[pick(ops.size())]); return true;
        case Mutation::peer: op.peer = pick_int(original_.ranks); return message;
        case Mutation::lane: op.lane += 1 + pick_int(2); return message;
        case Mutation::slot: return change_slot(op);
        case Mutation::side:
            op.side = op.side == Side::left ? Side::right : Side::left;
            return reduces;
        case Mutation::block:
            op.blocks[pick(op.blocks.size())] = pick_int(original_.blocks());
            return true;
        case Mutation::sources:
            if (op.sources.size() < 2)
                return false;
            std::swap(op.sources[pick(op.sources.size())], op.sources[pick(op.sources.size())]);
            return true;
        case Mutation::group: op.group = pick_int(3); return reduces && op.from == op.into;
        case Mutation::drop_message:
        case Mutation::double_message:
        case Mutation::relabel_message: return message && change_message(mutation, ops, index);
        case Mutation::window: break;
        }
        return false;
    }

    bool change_slot(Op &op) {
        std::vector<Slot *> slots;
        for (Slot *slot : {&op.from, &op.into})
            if (*slot != kNoSlot)
                slots.push_back(slot);
        for (Slot &source : op.sources)
            slots.push_back(&source);
        *slots[pick(slots.size())] = pick_int(4);
        return true;
    }

    // The partner is searched among ops of the same kind of list (prefix or n-th suffix).
    bool change_message(Mutation mutation, std::vector<Op> &ops, std::size_t index) {
        const Op op = ops[index];
        const auto here = position_of(ops);
        std::size_t number = 0; // among the ops of its channel and lane
        for (std::size_t i = 0; i < index; ++i)
            number += ops[i].kind == op.kind && ops[i].peer == op.peer && ops[i].lane == op.lane;
        Program &other = programs_[static_cast<std::size_t>(op.peer)];
        std::vector<Op> *theirs =
            here.second < 0 ? &other.ops : suffix(other, static_cast<std::size_t>(here.second));
        if (theirs == nullptr)
            return false;
        const OpKind wanted = op.kind == OpKind::send ? OpKind::recv : OpKind::send;
        for (std::size_t i = 0; i < theirs->size(); ++i) {
            const Op &match = (*theirs)[i];
            if (match.kind != wanted || match.peer != here.first || match.lane != op.lane ||
                number-- > 0)
                continue;
            if (mutation == Mutation::relabel_message) {
                const Block label = pick_int(original_.blocks());
                const std::size_t k = pick(op.blocks.size());
                ops[index].blocks[k] = label;
                (*theirs)[i].blocks[k] = label;
            } else {
                edit(ops, index, mutation);
                edit(*theirs, i, mutation);
            }
            return true;
        }
        return false;
    }

    static void edit(std::vector<Op> &ops, std::size_t index, Mutation mutation) {
        const auto place = ops.begin() + static_cast<std::ptrdiff_t>(index);
        if (mutation == Mutation::drop_message)
            ops.erase(place);
        else
            ops.insert(place, Op(*place));
    }

    static std::vector<Op> *suffix(Program &program, std::size_t value) {
        return value < program.suffixes.size() ? &program.suffixes[value] : nullptr;
    }

    // The position that a list belongs to, and which suffix it is (-1: the prefix).
    std::pair<Position, std::ptrdiff_t> position_of(const std::vector<Op> &ops) const {
        for (std::size_t p = 0; p < programs_.size(); ++p) {
            if (&programs_[p].ops == &ops)
                return {static_cast<Position>(p), -1};
            for (std::size_t v = 0; v < programs_[p].suffixes.size(); ++v)
                if (&programs_[p].suffixes[v] == &ops)
                    return {static_cast<Position>(p), static_cast<std::ptrdiff_t>(v)};
        }
        return {-1, -1};
    }

    const Schedule &original_;
    std::mt19937_64 random_;
    std::vector<Program> programs_;
};

struct MutationTally {
    int mutants = 0;
    int refused = 0;
    int confirmed = 0; // refused, and some run on numbers goes wrong too
    int equivalent = 0;
    int harmless = 0;
    std::map<Mutation, std::pair<int, int>> refused_of; // refused, of how many
};

// What the runs of one schedule on numbers show together, over token values and orders of events.
inline Findings run_on_numbers(const Schedule &schedule, std::uint64_t seed, int runs) {
    Findings all;
    const std::int32_t values = schedule.token ? schedule.token->values : 1;
    for (std::int32_t value = 0; value < values; ++value)
        for (int run = 0; run < runs; ++run) {
            const Findings one = examine(
                schedule, interpret(schedule, value, seed + static_cast<std::uint64_t>(run)));
            all.computed = all.computed && one.computed;
            all.order_preserving = all.order_preserving && one.order_preserving;
            all.consistent = all.consistent && one.consistent;
        }
    return all;
}

// Tries `count` mutations in turn (fewer mutants: not every place allows every change).  Checks
// what the head of this file says; the tally is for the caller to see that the test is not vacuous.
inline MutationTally check_mutants(const Schedule &schedule, int count, std::uint64_t seed,
                                   int runs = 3) {
    INFO("mutants of ", schedule.name, " at ", schedule.ranks, " ranks");
    REQUIRE(verify(schedule).failure == "");
    MutationTally tally;
    Mutator mutator(schedule, seed);
    for (int i = 0; i < count; ++i) {
        const Mutation mutation = kMutations.at(static_cast<std::size_t>(i) % kMutations.size());
        const std::optional<Schedule> mutant = mutator.mutant(mutation);
        if (!mutant)
            continue;
        const Verdict verdict = verify(*mutant);
        const Findings truth = run_on_numbers(*mutant, seed, runs);
        auto &[refused, of] = tally.refused_of[mutation];
        ++tally.mutants;
        ++of;
        if (!verdict.ok) {
            ++refused;
            ++tally.refused;
            tally.confirmed += truth.computed ? 0 : 1;
            continue;
        }
        ++(equivalent(schedule, *mutant) ? tally.equivalent : tally.harmless);
        INFO("accepted mutant by ", std::string(name(mutation)), ":\n", to_text(*mutant));
        CHECK(truth.computed);
        CHECK((truth.order_preserving || !verdict.order_preserving));
        CHECK((truth.consistent || !verdict.consistent));
        // These leave a message without a partner, which nothing can repair.
        CHECK(mutation != Mutation::peer);
        CHECK(mutation != Mutation::lane);
    }
    return tally;
}

} // namespace stretto::test
