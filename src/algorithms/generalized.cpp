// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/generalized.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/reversed.hpp"

namespace stretto::algorithms {

using schedule::kNoSlot;
using schedule::Slot;

namespace {

// The lowest slot that is not one of these.
Slot free_slot(Slot a, Slot b = kNoSlot) {
    Slot slot = kWork;
    while (slot == a || slot == b)
        ++slot;
    return slot;
}

// into = received blocks op `with`.
Op add(Side side, Slot come, Slot with, Blocks blocks, Slot into) {
    return side == Side::left ? schedule::reduce({come, with}, std::move(blocks), into)
                              : schedule::reduce({with, come}, std::move(blocks), into);
}

} // namespace

Generalized::Generalized(Group group, Position skipped, Position width)
    : group_(std::move(group)), kept_(group_.factors(), 1),
      skipped_(static_cast<std::size_t>(skipped)) {
    for (std::size_t f = group_.factors(); f-- > 0;)
        for (Position from = group_.order(f), to; from > 1; from = to) {
            to = std::max((from + 1) / 2, width == 0 ? 0 : from - width);
            descents_.push_back({f, from, to});
        }
    for (std::size_t i = descents_.size() - skipped_; i < descents_.size(); ++i)
        kept_[descents_[i].factor] = std::max(kept_[descents_[i].factor], descents_[i].from);

    block_of_ = {0};
    Block weight = 1;
    for (std::size_t f = 0; f < group_.factors(); ++f) {
        if (whole(f))
            continue;
        std::vector<Block> longer;
        for (const Block before : block_of_)
            for (Block digit = 0; digit < group_.order(f); ++digit)
                longer.push_back(before + digit * weight);
        weight *= group_.order(f);
        block_of_ = std::move(longer);
    }
}

void Generalized::place_by_owner() {
    std::iota(block_of_.begin(), block_of_.end(), 0);
}

Relative Generalized::relative() const {
    std::vector<Position> orders; // of the factors that blocks have digits of
    std::vector<std::size_t> factors;
    for (std::size_t f = 0; f < group_.factors(); ++f)
        if (!whole(f)) {
            orders.push_back(group_.order(f));
            factors.push_back(f);
        }
    std::vector<Block> number_of(block_of_.size());
    for (std::size_t number = 0; number < block_of_.size(); ++number)
        number_of[static_cast<std::size_t>(block_of_[number])] = static_cast<Block>(number);
    return [group = group_, digits = Group(std::move(orders)), factors = std::move(factors),
            number_of = std::move(number_of)](Position position, Block block) {
        Position own = 0;
        for (const std::size_t f : factors)
            own = own * group.order(f) + group.digit(position, f);
        return digits.difference(number_of[static_cast<std::size_t>(block)], own);
    };
}

Blocks Generalized::cells(Position position, std::size_t factor, Position first,
                          Position size) const {
    Blocks numbers = {0};
    for (std::size_t f = 0; f < group_.factors(); ++f) {
        if (whole(f))
            continue;
        const Position n = group_.order(f);
        const Position from = f == factor ? first : 0;
        const Position count = f == factor ? std::min(size, n) : f < factor ? n : kept(f);
        Blocks longer;
        for (const Block before : numbers)
            for (Position x = from; x < from + count; ++x)
                longer.push_back(before * n + (group_.digit(position, f) + x) % n);
        numbers = std::move(longer);
    }
    for (Block &block : numbers)
        block = block_of_[static_cast<std::size_t>(block)];
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// A whole factor of 3 takes two messages of all cells by descents, and each position would bracket
// the three sums otherwise.  Two messages can also bring the other two sums unchanged.  Then all
// positions add them in the same order, so all have the same bits.
void Generalized::append_in_agreed_order(Ops &ops, Position position, std::size_t factor,
                                         bool final, Slot &held, Lane lane) const {
    const Blocks all = cells(position, factor, 0, 3);
    Slot sums[3];
    Slot last = held;
    for (const Position by : {1, 2}) {
        const Position source = group_.moved(position, factor, -by);
        Slot slot = free_slot(held, last);
        ops.push_back(schedule::send(group_.moved(position, factor, by), all, held, lane));
        ops.push_back(schedule::recv(source, all, slot, lane));
        sums[group_.digit(source, factor)] = last = slot;
    }
    sums[group_.digit(position, factor)] = held;
    if (final)
        held = kWork;
    ops.push_back(schedule::reduce({sums[0], sums[1], sums[2]}, all, held));
}

void Generalized::append_reduction(Ops &ops, Position position, Lane lane) const {
    Slot held = kWork, star = kNoSlot; // where interiors are, and stars that have parted from them
    for (std::size_t i = 0; i < descents_.size(); ++i) {
        const Descent &descent = descents_[i];
        const auto [f, from, to] = descent;
        const Position kept = kept_[f], moved = descent.moved();
        const bool last = to == 1; // of this factor
        if (whole(f) && from == 3 && group_.order(f) == 3) {
            append_in_agreed_order(ops, position, f, i + 2 == descents_.size(), held, lane);
            ++i;
            continue;
        }
        const Position source = group_.moved(position, f, -moved);
        const Side side = side_of(source, position);
        const Position sent = moved + kept - 1; // cells to ... from + kept - 2
        ops.push_back(schedule::send(group_.moved(position, f, moved), cells(position, f, to, sent),
                                     held, lane));
        Blocks come = cells(position, f, to - moved, sent);
        const auto receive_into = [&](Slot with, Slot into) {
            ops.push_back(schedule::recv_reduce(source, std::move(come), side, with, into, lane));
        };
        if (kept == 1) {
            receive_into(held, held);
        } else if (!descent.even()) { // no star is added to
            if (star == kNoSlot)
                star = held;
            const Slot next = free_slot(held, star);
            receive_into(held, next);
            held = next;
        } else if (star != kNoSlot && !last) { // both are
            const Slot scratch = free_slot(held, star);
            ops.push_back(schedule::recv(source, std::move(come), scratch, lane));
            ops.push_back(add(side, scratch, star, cells(position, f, 0, kept), star));
            ops.push_back(add(side, scratch, held, cells(position, f, 1, to + kept - 2), held));
        } else { // there is one kind of sums, or stars alone are left
            const Slot with = star == kNoSlot ? held : star;
            const Slot next = i + 1 == descents_.size() ? kWork : free_slot(held);
            if (next != held) {
                receive_into(with, next);
            } else {
                const Slot scratch = free_slot(held, star);
                ops.push_back(schedule::recv(source, come, scratch, lane));
                ops.push_back(add(side, scratch, with, std::move(come), next));
            }
            held = next;
        }
        if (last)
            star = kNoSlot;
    }
}

void Generalized::append_distribution(Ops &ops, Position position, Lane lane) const {
    for (std::size_t i = descents_.size() - skipped_; i-- > 0;) {
        const auto [f, from, to] = descents_[i];
        const Position moved = descents_[i].moved();
        ops.push_back(schedule::send(group_.moved(position, f, -moved),
                                     cells(position, f, to - moved, moved), kWork, lane));
        ops.push_back(schedule::recv(group_.moved(position, f, moved),
                                     cells(position, f, to, moved), kWork, lane));
    }
}

std::vector<Hop> Generalized::hops(Position position, Position root) const {
    const auto cell = [&](std::size_t factor) { // the one that is the root's block
        const Position n = group_.order(factor);
        return (group_.digit(root, factor) - group_.digit(position, factor) + n) % n;
    };
    std::vector<Hop> found;
    for (const Descent &descent : reversed(descents_)) {
        const auto [f, from, to] = descent;
        bool there = true; // digits behind this factor are not distributed yet
        for (std::size_t behind = f + 1; behind < group_.factors(); ++behind)
            there = there && cell(behind) == 0;
        const Position moved = descent.moved(), x = cell(f);
        if (there && to <= x && x < from)
            found.push_back({group_.moved(position, f, moved), position});
        else if (there && to - moved <= x && x < to)
            found.push_back({position, group_.moved(position, f, -moved)});
    }
    return found;
}

const Parameter kGroup = {.name = "group",
                          .fallback = 2,
                          .least = 2,
                          .most = 1 << 20,
                          .meaning = "orders of cyclic groups, whose product is the number of "
                                     "ranks: 2x3x5; by default one, the number of ranks",
                          .list = true};
const Parameter kSkipped = {.name = "r",
                            .fallback = 0,
                            .least = 0,
                            .most = 64,
                            .meaning = "steps that are saved, by more bytes: 0 is the best for "
                                       "bytes, half of the steps the best for latency"};
const Parameter kWidth = {.name = "width",
                          .fallback = 0,
                          .least = 0,
                          .most = 1 << 20,
                          .meaning = "blocks of a message, at most: 1 is a ring; 0: no limit"};

static Position number(const Problem &problem, const Parameter &parameter) {
    const auto given = problem.parameters.find(std::string(parameter.name));
    return given == problem.parameters.end() ? 0 : static_cast<Position>(given->second.front());
}

static Group group_of(const Problem &problem) {
    std::vector<Position> orders;
    for (const std::int64_t order : problem.parameters.at(std::string(kGroup.name)))
        orders.push_back(static_cast<Position>(order));
    if (orders.empty() && problem.ranks > 1)
        orders.push_back(problem.ranks);
    return Group(std::move(orders));
}

Generalized generalized(const Problem &problem) {
    return {group_of(problem), number(problem, kSkipped), number(problem, kWidth)};
}

std::string generalized_misfit(const Problem &problem) {
    std::int64_t product = 1;
    const Value &orders = problem.parameters.at(std::string(kGroup.name));
    for (const std::int64_t order : orders)
        product = std::min<std::int64_t>(product * order, kGroup.most + 1);
    if (!orders.empty() && product != problem.ranks)
        return "group=" + shown(orders) + " on " + std::to_string(problem.ranks) +
               " ranks: the product of the orders must be the number of ranks";
    const Position skipped = number(problem, kSkipped), width = number(problem, kWidth);
    if (skipped > 0 && width > 0)
        return "both r and width: steps are either saved or added";
    const std::size_t most = Generalized(group_of(problem), 0).descents().size();
    if (static_cast<std::size_t>(skipped) > most)
        return "r=" + std::to_string(skipped) + " on " + std::to_string(problem.ranks) +
               " ranks, which have 0 to " + std::to_string(most);
    return "";
}

} // namespace stretto::algorithms
