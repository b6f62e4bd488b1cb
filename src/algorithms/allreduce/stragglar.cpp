// SPDX-License-Identifier: BSD-3-Clause
// StragglAR: the early positions reduce-scatter among themselves while late ones are away; then the
// last position gives its blocks to their owners, and results spread while it still sends.
//
// Source: Devraj et al., "Efficient AllReduce with stragglers", arXiv 2505.23523, of one late rank
// and any number of blocks; the spread here is the broadcast of block_rounds.hpp (Träff, arXiv
// 2312.11236), and more late ranks are this library's.
//
// Positions are sorted by arrival: the first E = P - late are early, L is the last.
//
//   reduction   that broadcast, from L to the E early positions, turned round, without the last hop
//               of all blocks but one: so blocks end where L would have sent them first, with the
//               ceil(log2 (E + 1)) owners.  Of block n - 1, which L sends to each of them, they
//               hold parts, and send these to L
//   own blocks  L sends block i in round i, not a result: its owner adds it to what it holds
//   results     go on from there, round by round.  L gets them as a root does to which the rounds
//               come back; block n - 1 it has put together itself
//   other late  send block i to its owner (n - 1 to L) when they come, and get its result from the
//               early ones in turns
//
//   4 ranks, one late:   reduction   0 1 2 among themselves; owners 0 and 1
//                        own blocks  3 to 0 and 1 in turns
//                        results     0 to 1, 2, 3 in turns, and alike from 1 and 2
//
// In the reduction blocks with the same owner come in reverse order, so that those that L sends
// first are complete first.
//
// Rounds    from L's arrival to the end, with one port each way, late = 1: n + ceil(log2 P) of
//           m / n bytes or one less, if n >= ceil(log2 P); so n = sqrt(ceil(log2 P) beta m / alpha)
//           is the best.  A round takes in what an owner reduces
// Messages  2 (P - 1) n
// Good where late_rooted is, with a round or two less.  Of several late ones those that come before
// the last by a vector's transfer cost nothing; if two come together, all rounds wait for what
// owners receive besides, and it takes more than half as long again.  Commutative operations only,
// unless E <= 2.  No scratch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/block_rounds.hpp"
#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"
#include "algorithms/round_ops.hpp"

namespace stretto::algorithms {

namespace {

constexpr Lane kReduce = 0, kOwn = 1, kResults = 2;

// The ops of one position.  Of the broadcast, rank 0 is L, and rank r is position r - 1.
class Completion {
public:
    Completion(Ops &ops, Position position, Position ranks, Position late, Block blocks)
        : ops_(ops), position_(position), early_(ranks - late), last_(ranks - 1), blocks_(blocks),
          rounds_(early_ + 1, blocks), from_root_(rounds_.sent(0)) {}

    void append() {
        if (position_ < early_) {
            append_reduction();
            append_results(position_ + 1);
        } else if (position_ == last_) {
            append_parts();
            append_results(0);
        } else {
            append_late();
        }
    }

private:
    Position position_of(Position rank) const { return rank == 0 ? last_ : rank - 1; }
    Block final_block() const { return blocks_ - 1; }

    // The position that adds up all contributions to a block.
    Position owner(Block block) const {
        if (block == final_block())
            return last_;
        const auto found = std::find(from_root_.begin(), from_root_.end(), block);
        return rounds_.skip(static_cast<Block>(found - from_root_.begin())) - 1;
    }
    // The position that sends the result to a late position that is not L.
    Position giver(Block block, Position late) const { return (block + late) % early_; }

    // Blocks of the same owner in reverse order.
    Block backwards(Block block) const {
        if (block == final_block())
            return block;
        const auto owners = static_cast<Block>(rounds_.skips().size()) - 1;
        return block % owners + (final_block() - 1 - block % owners) / owners * owners -
               block / owners * owners;
    }

    Op reduced(Position from, Block block, Lane lane) const {
        return schedule::recv_reduce(from, {block}, side_of(from, position_), kWork, kWork, lane);
    }

    void append_reduction() {
        const Position me = position_ + 1, ranks = early_ + 1;
        const Blocks gives = rounds_.received(me), takes = rounds_.sent(me);
        for (Block i = rounds_.rounds() - 1; i-- > 0;) {
            const auto at = static_cast<std::size_t>(i);
            const Position from = shifted(me, rounds_.skip(i), ranks);
            const Position to = shifted(me, -rounds_.skip(i), ranks);
            ops_.begin_round();
            if (gives[at] != BlockRounds::kNone && to != 0)
                ops_.add(schedule::send(position_of(to), {backwards(gives[at])}, kWork, kReduce));
            else if (gives[at] == final_block())
                ops_.add_free(schedule::send(last_, {final_block()}, kWork, kReduce));
            if (takes[at] != BlockRounds::kNone && from != 0)
                ops_.add(reduced(position_of(from), backwards(takes[at]), kReduce));
        }
    }

    // The block that L puts together.
    void append_parts() {
        for (Position late = last_; late-- > early_;)
            ops_.add_free(reduced(late, final_block(), kOwn));
        for (Position early = early_; early-- > 0;)
            for (std::size_t i = 0; i < from_root_.size(); ++i)
                if (from_root_[i] == final_block() &&
                    rounds_.skip(static_cast<Block>(i)) == early + 1)
                    ops_.add_free(reduced(early, final_block(), kReduce));
    }

    void append_results(Position me) {
        const Position ranks = early_ + 1;
        const Blocks gives = rounds_.sent(me), takes = rounds_.received(me);
        for (Block i = 0; i < rounds_.rounds(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            ops_.begin_round();
            if (gives[at] != BlockRounds::kNone)
                give(gives[at], me, shifted(me, rounds_.skip(i), ranks));
            if (takes[at] != BlockRounds::kNone)
                take(takes[at], me, shifted(me, -rounds_.skip(i), ranks));
        }
    }

    void give(Block block, Position me, Position to) {
        if (to == 0 && block == final_block()) // L has it
            return;
        const bool own = me == 0 && block != final_block();
        ops_.add(schedule::send(position_of(to), {block}, kWork, own ? kOwn : kResults));
    }

    void take(Block block, Position me, Position from) {
        if (me == 0 && block == final_block())
            return;
        if (from == 0 && block != final_block()) {
            for (Position late = early_; late < last_; ++late)
                ops_.add_free(reduced(late, block, kOwn));
            ops_.add(reduced(last_, block, kOwn));
        } else {
            ops_.add(schedule::recv(position_of(from), {block}, kWork, kResults));
        }
        for (Position late = early_; me != 0 && late < last_; ++late)
            if (giver(block, late) == position_)
                ops_.add_free(schedule::send(late, {block}, kWork, kResults));
    }

    // A late position that is not L.
    void append_late() {
        for (Block block = 0; block < blocks_; ++block)
            ops_.add_free(schedule::send(owner(block), {block}, kWork, kOwn));
        for (Block block = 0; block < blocks_; ++block)
            ops_.add_free(schedule::recv(giver(block, position_), {block}, kWork, kResults));
    }

    RoundOps ops_;
    Position position_, early_, last_;
    Block blocks_;
    BlockRounds rounds_;
    Blocks from_root_;
};

constexpr Parameter kBlocks = {.name = "blocks",
                               .fallback = 8,
                               .least = 1,
                               .most = 4096,
                               .meaning = "pieces of the vector that follow one another"};

bool two_early(const Problem &problem) {
    return problem.ranks - parameter(problem, "late") <= 2;
}

std::vector<Values> for_arrivals(const Lateness &expected) {
    const Position late = expected.late();
    const int owners = log2_ceil(expected.ranks() - late + 1);
    if (late > owners + 1)
        return {}; // owners would receive two vectors, as in a ring
    return {{{"blocks", {expected.pieces(owners)}}, {"late", {late}}}};
}

} // namespace

Algorithm allreduce::stragglar() {
    return {.name = "stragglar",
            .collective = Collective::allreduce,
            .summary = "early ranks reduce; results spread while the last one still sends",
            .source = "Devraj et al. 2025 (arXiv 2505.23523), over Träff 2023",
            .parameters = {kBlocks, kLate},
            .runs = always,
            .order_preserving = two_early,
            .consistent = always,
            .canonical = up_to<2>,
            .make =
                [](const Problem &problem) {
                    const Block blocks = parameter(problem, "blocks");
                    const auto late = static_cast<Position>(parameter(problem, "late"));
                    return assemble(Collective::allreduce, problem, Partition::even(blocks),
                                    asymmetric,
                                    [ranks = problem.ranks, late, blocks](Ops &ops, Position p) {
                                        if (ranks > 1)
                                            Completion(ops, p, ranks, late, blocks).append();
                                    });
                },
            .sorted_by_arrival = true,
            .for_arrivals = for_arrivals};
}

} // namespace stretto::algorithms
