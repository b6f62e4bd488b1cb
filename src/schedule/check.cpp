// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/check.hpp"

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.hpp"
#include "schedule/access.hpp"
#include "schedule/json.hpp"

namespace stretto::schedule {

namespace {

// Throws if the condition is false.  The message is put together only then.
template<class... Parts>
void require(bool holds, const Parts &...parts) {
    if (holds)
        return;
    std::ostringstream text;
    (text << ... << parts);
    throw Error(Status::argument, text.str());
}

// The checks of one op; each throws if it fails.
class OpCheck {
public:
    OpCheck(const Schedule &schedule, Position position, std::size_t index, const Op &op)
        : schedule_(schedule), position_(position), index_(index), op_(op) {}

    void run() const {
        switch (op_.kind) {
        case OpKind::send: send(); break;
        case OpKind::recv: recv(); break;
        case OpKind::reduce: reduce(); break;
        case OpKind::copy: copy(); break;
        }
        for (const std::int32_t earlier : op_.after)
            require(earlier >= 0 && static_cast<std::size_t>(earlier) < index_, "`after` names op ",
                    earlier, ", which is not an earlier one");
    }

private:
    void send() const {
        message();
        require(op_.from >= 0, "a send needs the slot it reads");
        labels(op_.blocks, false);
        require(op_.into == kNoSlot && op_.group == 0 && op_.side == Side::right,
                "a send writes nothing: no slot `into`, group or side");
        require(op_.targets.empty() && op_.sources.empty(), "a send has no targets or sources");
    }

    void recv() const {
        message();
        require(op_.into >= 0, "a receive needs the slot it writes");
        require(op_.from >= kNoSlot, "the slot to reduce with must be a slot or -1");
        labels(op_.blocks, true);
        require(op_.from != kNoSlot || op_.side == Side::right,
                "a side needs a slot to reduce with");
        require(op_.group >= 0, "a group is positive, or 0 for none");
        require(op_.group == 0 || op_.from == op_.into,
                "a receive of an unordered group must reduce into the slot it reduces with");
        require(op_.targets.empty() && op_.sources.empty(), "a receive has no targets or sources");
    }

    void reduce() const {
        local();
        require(op_.sources.size() >= 2, "a reduction needs at least 2 sources; use copy for 1");
        for (const Slot source : op_.sources)
            require(source >= 0, "source ", source, " is not a slot");
        require(op_.into >= 0, "a reduction needs the slot it writes");
        labels(op_.blocks, true);
        require(op_.from == kNoSlot && op_.targets.empty(),
                "a reduction reads `sources`: no slot `from`, no targets");
    }

    void copy() const {
        local();
        require(op_.from >= 0 && op_.into >= 0, "a copy needs the slots it reads and writes");
        require(op_.sources.empty(), "a copy has no sources");
        labels(op_.blocks, false);
        const std::vector<Block> &targets = targets_of(op_);
        labels(targets, true);
        require(targets.size() == op_.blocks.size(), "a copy needs as many targets as blocks");
        for (std::size_t i = 0; i < targets.size(); ++i)
            require(schedule_.partition.same_size(op_.blocks[i], targets[i]), "blocks ",
                    op_.blocks[i], " and ", targets[i], " differ in size for some counts");
        if (op_.from != op_.into)
            return;
        std::vector<Block> read = op_.blocks;
        std::sort(read.begin(), read.end());
        for (const Block target : targets)
            require(!std::binary_search(read.begin(), read.end(), target), "block ", target,
                    " is read and overwritten; copy through another slot");
    }

    void message() const {
        require(op_.peer >= 0 && op_.peer < schedule_.ranks, "peer ", op_.peer,
                " is not one of positions 0...", schedule_.ranks - 1);
        require(op_.peer != position_, "a position cannot message itself; use copy");
        require(op_.lane >= 0, "lane ", op_.lane, " is negative");
    }

    void local() const {
        require(op_.peer == -1 && op_.lane == 0 && op_.group == 0 && op_.side == Side::right,
                "only messages have a peer, a lane, a group or a side");
    }

    void labels(const std::vector<Block> &blocks, bool written) const {
        require(!blocks.empty(), "no blocks; an op touches at least one");
        for (const Block block : blocks)
            require(block >= 0 && block < schedule_.blocks(), "block ", block,
                    " is not one of blocks 0...", schedule_.blocks() - 1);
        if (!written || std::ranges::adjacent_find(blocks, std::greater_equal<>()) == blocks.end())
            return;
        std::vector<Block> sorted = blocks;
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end())
            require(false, "block ", *twice, " is written twice");
    }

    template<class... Parts>
    void require(bool holds, const Parts &...parts) const {
        if (!holds)
            schedule::require(false, "position ", position_, ", op ", index_, " (", to_text(op_),
                              "): ", parts...);
    }

    const Schedule &schedule_;
    Position position_;
    std::size_t index_;
    const Op &op_;
};

// Ops as seen from their position.
bool alike(const std::vector<Op> &ops, Position position, const std::vector<Op> &of_first,
           const Symmetry &group) {
    const auto shape = [&](const Op &op, Position from) {
        const Position away = op.peer < 0 ? op.peer : group.difference(op.peer, from);
        return std::tuple(op.kind, away, op.lane, op.blocks.size(), op.from == kNoSlot,
                          op.sources.size());
    };
    return std::equal(
        ops.begin(), ops.end(), of_first.begin(), of_first.end(),
        [&](const Op &op, const Op &first) { return shape(op, position) == shape(first, 0); });
}

} // namespace

void check_frame(const Schedule &schedule) {
    const Contract &contract = schedule.contract;
    require(schedule.ranks >= 1, "a schedule needs at least 1 rank, not ", schedule.ranks);
    require(contract.ranks() == schedule.ranks && contract.blocks() == schedule.blocks(),
            "the contract is for ", contract.ranks(), " ranks and ", contract.blocks(),
            " blocks, the schedule has ", schedule.ranks, " and ", schedule.blocks());
    require(static_cast<bool>(schedule.program), "the schedule has no programs");
    if (!schedule.token)
        return;
    const Token &token = *schedule.token;
    require(token.values >= 1, "a token needs at least 1 value, not ", token.values);
    require(token.arbiter >= -1 && token.arbiter < schedule.ranks,
            "the arbiter must be -1 (elected) or one of positions 0...", schedule.ranks - 1,
            ", not ", token.arbiter);
    require(token.issued_after >= 0, "`issued_after` is negative");
    require(token.arbiter >= 0 || token.issued_after == 0,
            "`issued_after` counts ops of an arbiter, but the token is elected");
}

void check_program(const Schedule &schedule, Position position, const Program &program) {
    require(program.open.recv >= 0 && program.open.send >= 0, "position ", position,
            ": a window is positive, or 0 for no limit");
    const std::size_t values =
        schedule.token ? static_cast<std::size_t>(schedule.token->values) : 0;
    require(program.suffixes.empty() || program.suffixes.size() == values, "position ", position,
            ": ", program.suffixes.size(), " suffixes, but the token has ", values, " values");
    if (schedule.token && schedule.token->arbiter == position)
        require(static_cast<std::size_t>(schedule.token->issued_after) <= program.ops.size(),
                "position ", position, ": the arbiter issues the token after ",
                schedule.token->issued_after, " ops, but its prefix has ", program.ops.size());
    const auto check = [&](const std::vector<Op> &ops, std::size_t first) {
        for (std::size_t i = 0; i < ops.size(); ++i)
            OpCheck(schedule, position, first + i, ops[i]).run();
    };
    check(program.ops, 0);
    for (const std::vector<Op> &suffix : program.suffixes)
        check(suffix, program.ops.size());
}

bool is_symmetric(const Schedule &schedule) {
    if (!schedule.symmetry)
        return false;
    const Program first = schedule.program(0);
    for (Position p = 1; p < schedule.ranks; ++p) {
        const Program here = schedule.program(p);
        const bool same =
            std::equal(here.suffixes.begin(), here.suffixes.end(), first.suffixes.begin(),
                       first.suffixes.end(), [&](const auto &a, const auto &b) {
                           return alike(a, p, b, *schedule.symmetry);
                       });
        if (!same || here.open != first.open || !alike(here.ops, p, first.ops, *schedule.symmetry))
            return false;
    }
    return true;
}

} // namespace stretto::schedule
