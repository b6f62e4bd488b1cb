// SPDX-License-Identifier: BSD-3-Clause
// Late-rooted pipeline (LRP): when the last position arrives, the others have already reduced all
// their contributions.  Block by block it adds its own and sends the result, which spreads as fast
// as the ports allow.
//
// Source: this library, over the broadcast of block_rounds.hpp (Träff, arXiv 2312.11236).
//
// Positions are sorted by arrival: the last one, L, comes last; H is the one before it.
//
//   reduction  all but the last c - 1 positions reduce to the last of them, by the broadcast turned
//              round; it is the chain's first
//   chain      the last c positions: a block goes from one to the next as soon as it is complete
//   results    from L to all others: a broadcast whose root has two bodies.  L sends what the root
//              sends; H receives what others would send to the root
//
//   5 ranks, c = 2:   reduction   0 1 2 among themselves and to 3 = H
//                     chain       3 to 4 = L
//                     results     4 to 2 and 1; 2 1 0 among themselves; 1 and 0 to 3
//
// Why two bodies: after L has come P - 1 positions need n results each, and L needs n blocks, which
// is n for each of P ports.  A position that gave L all blocks and sent results on would send 2 n.
//
// A position begins the next round when its messages of this one are through; else rounds overtake
// one another, and ports are late with what others need first.  No position waits for its sends to
// the chain's first in the reduction, as that one may be late itself.  L receives without waiting
// for its sends.  The positions that finish the reduction first get results first (one broadcast
// numbers positions in reverse), so that both are under way together if L is not late.
//
// Rounds    from L's arrival to the end, with one port each way: n + ceil(log2(P - 1)) + 1 of m / n
//           bytes; so n = sqrt((ceil(log2(P - 1)) + 1) beta m / alpha) is the best
// Messages  2 (P - 1) n; one position sends at most 2 n + ceil(log2(P - 1))
// Good for vectors of beta m >> alpha if one position comes later than all others by more than the
// reduction takes: then little more than m bytes are to be moved once it is there, where a ring
// moves 2 m.  It is not made for several late positions; without late ones other algorithms are
// faster.  Commutative operations only, unless c >= P - 2.  No scratch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/block_rounds.hpp"
#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"
#include "algorithms/round_ops.hpp"

namespace stretto::algorithms {

namespace {

constexpr Lane kResults = 1; // reductions take lane 0

// The ops of one position, round by round.
class Pipeline {
public:
    Pipeline(Ops &ops, Position position, Position ranks, Position chain, Block blocks)
        : ops_(ops), position_(position), last_(ranks - 1), head_(ranks - chain), blocks_(blocks) {}

    void append() {
        if (position_ <= head_ && head_ > 0)
            append_reduction();
        else if (position_ != last_)
            for (Block block = 0; block < blocks_; ++block)
                pass_on(block);
        append_results();
    }

private:
    // Along the chain.
    void pass_on(Block block) {
        if (position_ > head_)
            ops_.add_free(schedule::recv_reduce(position_ - 1, {block}, Side::left));
        if (position_ != last_)
            ops_.add_free(schedule::send(position_ + 1, {block}));
    }

    // Ranks 1, 2, ... of the broadcast are positions 0, 1, ...; the root, 0, is the chain's first.
    // Rounds run backwards, and blocks too, so that block 0 is complete first.
    void append_reduction() {
        const Position ranks = head_ + 1, me = shifted(position_, 1, ranks);
        const BlockRounds rounds(ranks, blocks_);
        const Blocks gives = rounds.received(me), takes = rounds.sent(me);
        const auto position_of = [&](Position rank) { return shifted(rank, -1, ranks); };
        const auto backwards = [&](Block block) { return blocks_ - 1 - block; };
        for (Block i = rounds.rounds() - 1; i-- > 0;) {
            const auto at = static_cast<std::size_t>(i);
            const Position from = shifted(me, rounds.skip(i), ranks);
            const Position to = shifted(me, -rounds.skip(i), ranks);
            const bool taken = from != 0 && takes[at] != BlockRounds::kNone;
            ops_.begin_round();
            if (me != 0 && gives[at] != BlockRounds::kNone)
                ops_.add(schedule::send(position_of(to), {backwards(gives[at])}), to != 0);
            if (taken)
                ops_.add(schedule::recv_reduce(position_of(from), {backwards(takes[at])},
                                               side_of(position_of(from), position_)));
            // The root receives some blocks several times: they are complete after the last.
            if (me == 0 && taken &&
                std::find(takes.begin(), takes.begin() + i, takes[at]) == takes.begin() + i)
                pass_on(backwards(takes[at]));
        }
    }

    // Ranks 1, 2, ... are positions P - 3, P - 4, ...; 0 sends as L and receives as H.
    void append_results() {
        const Position ranks = last_, second = last_ - 1;
        const Position me = position_ < second ? second - position_ : 0;
        const BlockRounds rounds(ranks, blocks_);
        const Blocks none(static_cast<std::size_t>(rounds.rounds()), BlockRounds::kNone);
        const Blocks takes = position_ == last_ ? none : rounds.received(me);
        const Blocks gives = position_ == second ? none : rounds.sent(me);
        Block reduced = 0; // by L
        for (Block i = 0; i < rounds.rounds(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            const Position from = shifted(me, -rounds.skip(i), ranks);
            const Position to = shifted(me, rounds.skip(i), ranks);
            ops_.begin_round();
            for (; position_ == last_ && reduced <= gives[at]; ++reduced)
                pass_on(reduced);
            if (gives[at] != BlockRounds::kNone)
                ops_.add(schedule::send(second - to, {gives[at]}, kWork, kResults));
            if (takes[at] != BlockRounds::kNone)
                ops_.add(schedule::recv(from == 0 ? last_ : second - from, {takes[at]}, kWork,
                                        kResults));
        }
    }

    RoundOps ops_;
    Position position_, last_, head_;
    Block blocks_;
};

constexpr Parameter kBlocks = {.name = "blocks",
                               .fallback = 8,
                               .least = 1,
                               .most = 4096,
                               .meaning = "pieces of the vector that follow one another"};
constexpr Parameter kChain = {
    .name = "chain",
    .fallback = 2,
    .least = 2,
    .most = 4096,
    .meaning = "last positions that a block passes one by one, in the order of arrival",
    .most_at = [](Position ranks) { return std::max<std::int64_t>(ranks, 2); }};

// At most two positions send to the chain's first, so no third can come between them.
bool mostly_chain(const Problem &problem) {
    return parameter(problem, "chain") >= problem.ranks - 2;
}

std::vector<Values> for_arrivals(const Lateness &expected) {
    const std::int64_t blocks = expected.pieces(log2_ceil(expected.ranks() - 1) + 1);
    return {{{"blocks", {blocks}}, {"chain", {2}}}};
}

} // namespace

Algorithm allreduce::late_rooted() {
    return {.name = "late_rooted",
            .collective = Collective::allreduce,
            .summary = "all but the last rank reduce in blocks; results spread from it",
            .source = "Stretto, over Träff 2023 (arXiv 2312.11236)",
            .parameters = {kBlocks, kChain},
            .runs = always,
            .order_preserving = mostly_chain,
            .consistent = always,
            .canonical = up_to<3>,
            .make =
                [](const Problem &problem) {
                    const Block blocks = parameter(problem, "blocks");
                    const auto chain = static_cast<Position>(parameter(problem, "chain"));
                    return assemble(Collective::allreduce, problem, Partition::even(blocks),
                                    asymmetric,
                                    [ranks = problem.ranks, chain, blocks](Ops &ops, Position p) {
                                        Pipeline(ops, p, ranks, chain, blocks).append();
                                    });
                },
            .sorted_by_arrival = true,
            .for_arrivals = for_arrivals};
}

} // namespace stretto::algorithms
