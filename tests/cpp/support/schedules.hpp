// SPDX-License-Identifier: BSD-3-Clause
// Small schedules written by hand, for tests of everything that takes a schedule.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::test {

using namespace stretto::schedule;

inline Schedule assemble(std::string name, Contract contract, std::vector<Program> programs,
                         Partition partition) {
    Schedule schedule;
    schedule.name = std::move(name);
    schedule.ranks = contract.ranks();
    schedule.partition = std::move(partition);
    schedule.contract = std::move(contract);
    const auto shared = std::make_shared<const std::vector<Program>>(std::move(programs));
    schedule.program = [shared](Position p) { return shared->at(static_cast<std::size_t>(p)); };
    return schedule;
}

inline Schedule assemble(std::string name, Contract contract, std::vector<Program> programs) {
    const Partition partition = Partition::even(contract.blocks());
    return assemble(std::move(name), std::move(contract), std::move(programs), partition);
}

inline std::vector<Program> programs_of(const Schedule &schedule) {
    std::vector<Program> programs;
    for (Position p = 0; p < schedule.ranks; ++p)
        programs.push_back(schedule.program(p));
    return programs;
}

inline Schedule with_programs(const Schedule &schedule, std::vector<Program> programs) {
    Schedule changed =
        assemble(schedule.name, schedule.contract, std::move(programs), schedule.partition);
    changed.token = schedule.token;
    changed.symmetry = schedule.symmetry;
    return changed;
}

inline std::vector<Program> empty_programs(Position ranks) {
    return std::vector<Program>(static_cast<std::size_t>(ranks));
}

inline std::vector<Op> &ops_of(std::vector<Program> &programs, Position position) {
    return programs[static_cast<std::size_t>(position)].ops;
}

// Everybody to 0, which reduces in order; 0 to everybody.  One block.
inline Schedule linear(Position ranks) {
    auto programs = empty_programs(ranks);
    for (Position p = 1; p < ranks; ++p) {
        ops_of(programs, 0).push_back(recv_reduce(p, {0}, Side::right));
        ops_of(programs, p) = {send(0, {0}), recv(0, {0})};
    }
    for (Position p = 1; p < ranks; ++p)
        ops_of(programs, 0).push_back(send(p, {0}));
    return assemble("linear", {Collective::allreduce, ranks, 1}, std::move(programs));
}

// The canonical tree to 0 and back.  One block.
//
//   5 positions:  0 <- 1, 2 <- 3;  0 <- 2;  0 <- 4
inline Schedule binomial(Position ranks) {
    auto programs = empty_programs(ranks);
    for (Position bit = 1; bit < ranks; bit *= 2)
        for (Position p = 0; p + bit < ranks; p += 2 * bit) {
            ops_of(programs, p).push_back(recv_reduce(p + bit, {0}, Side::right));
            ops_of(programs, p + bit).push_back(send(p, {0}));
        }
    Position top = 1;
    while (top < ranks)
        top *= 2;
    for (Position bit = top / 2; bit >= 1; bit /= 2)
        for (Position p = 0; p + bit < ranks; p += 2 * bit) {
            ops_of(programs, p).push_back(send(p + bit, {0}));
            ops_of(programs, p + bit).push_back(recv(p, {0}));
        }
    return assemble("binomial", {Collective::allreduce, ranks, 1}, std::move(programs));
}

// Reduce-scatter and allgather around a ring.  As many blocks as positions.
inline Schedule ring(Position ranks) {
    auto programs = empty_programs(ranks);
    for (Position p = 0; p < ranks && ranks > 1; ++p) {
        const Position next = (p + 1) % ranks, previous = (p + ranks - 1) % ranks;
        const auto label = [&](Position steps_back) {
            return (p + 2 * ranks - steps_back) % ranks;
        };
        for (Position s = 0; s < ranks - 1; ++s) {
            ops_of(programs, p).push_back(send(next, {label(s)}));
            ops_of(programs, p).push_back(recv_reduce(previous, {label(s + 1)}, Side::left));
        }
        for (Position s = 0; s < ranks - 1; ++s) {
            ops_of(programs, p).push_back(send(next, {label(s + ranks - 1)}, kWork, 1));
            ops_of(programs, p).push_back(recv(previous, {label(s + ranks)}, kWork, 1));
        }
    }
    Schedule schedule =
        assemble("ring", {Collective::allreduce, ranks, ranks}, std::move(programs));
    schedule.symmetry = Symmetry({ranks});
    return schedule;
}

// Exchange with the partner at distance 1, 2, 4, ...; a power of two of positions, one block.  In
// place, a receive overwrites what is still being sent: a deadlock without buffers.  Otherwise it
// reduces from one slot into the other.
inline Schedule recursive_doubling(Position ranks, bool in_place) {
    auto programs = empty_programs(ranks);
    for (Position p = 0; p < ranks; ++p) {
        std::vector<Op> &ops = ops_of(programs, p);
        Slot held = kWork;
        for (Position bit = 1; bit < ranks; bit *= 2) {
            const Position partner = p ^ bit;
            const Slot next = in_place ? kWork : 1 - held;
            ops.push_back(send(partner, {0}, held));
            ops.push_back(
                recv_reduce(partner, {0}, partner < p ? Side::left : Side::right, held, next));
            held = next;
        }
        if (held != kWork)
            ops.push_back(copy({0}, held, kWork));
    }
    return assemble("recursive_doubling", {Collective::allreduce, ranks, 1}, std::move(programs));
}

// The owner of a block reduces it in the order of arrival and sends it to all.
inline Schedule direct(Position ranks) {
    auto programs = empty_programs(ranks);
    for (Position p = 0; p < ranks; ++p) {
        std::vector<Op> &ops = ops_of(programs, p);
        for (Position q = 0; q < ranks; ++q)
            if (q != p)
                ops.push_back(send(q, {q}));
        for (Position q = 0; q < ranks; ++q)
            if (q != p) {
                ops.push_back(recv_reduce(q, {p}, Side::right));
                ops.back().group = 1;
            }
        for (Position q = 0; q < ranks; ++q)
            if (q != p) {
                ops.push_back(send(q, {p}, kWork, 1));
                ops.push_back(recv(q, {q}, kWork, 1));
            }
    }
    return assemble("direct", {Collective::allreduce, ranks, ranks}, std::move(programs));
}

// Everybody reads everybody and reduces in one pass.  One block; position q's lands in slot q + 1.
inline Schedule one_shot(Position ranks) {
    auto programs = empty_programs(ranks);
    for (Position p = 0; p < ranks; ++p) {
        std::vector<Op> &ops = ops_of(programs, p);
        std::vector<Slot> sources;
        for (Position q = 0; q < ranks; ++q) {
            if (q != p) {
                ops.push_back(send(q, {0}));
                ops.push_back(recv(q, {0}, q + 1));
            }
            sources.push_back(q == p ? kWork : q + 1);
        }
        if (ranks > 1)
            ops.push_back(schedule::reduce(sources, {0}));
    }
    return assemble("one_shot", {Collective::allreduce, ranks, 1}, std::move(programs));
}

// Block b of p to block p of b, through slot 1 so that nothing is overwritten too early.
inline Schedule alltoall(Position ranks, Block pieces) {
    auto programs = empty_programs(ranks);
    const auto owned = [&](Position owner) {
        std::vector<Block> blocks;
        for (Block k = 0; k < pieces; ++k)
            blocks.push_back(owner * pieces + k);
        return blocks;
    };
    for (Position p = 0; p < ranks; ++p) {
        std::vector<Op> &ops = ops_of(programs, p);
        for (Position q = 0; q < ranks; ++q)
            if (q != p) {
                ops.push_back(send(q, owned(q)));
                ops.push_back(recv(q, owned(q), 1));
                ops.push_back(copy(owned(q), 1, kWork));
            }
    }
    return assemble("alltoall", {Collective::alltoall, ranks, ranks * pieces}, std::move(programs),
                    Partition::equal(ranks).refine(pieces));
}

// Two blocks that cross on their way: sent as 0, 1, awaited as 1, 0, one open receive.  With one
// open send as well nothing would move.
inline Schedule crossed() {
    auto programs = empty_programs(2);
    ops_of(programs, 0) = {send(1, {0}, kWork, 0), send(1, {1}, kWork, 1)};
    ops_of(programs, 1) = {recv(0, {1}, kWork, 1), recv(0, {0}, kWork, 0)};
    programs[1].open = {1, 0};
    return assemble("crossed", {Collective::broadcast, 2, 2}, std::move(programs));
}

// A token with two values decides who of 0 and 1 reduces.  Position 2 issues it and tells 0 with
// its contribution, 0 tells 1.  One block.
inline Schedule chosen_root() {
    auto programs = empty_programs(3);
    ops_of(programs, 0) = {recv_reduce(2, {0}, Side::right)};
    ops_of(programs, 2) = {send(0, {0})};
    // Value 0: 0 reduces.  0 tells 1 with a block that 1 does not need.
    programs[0].suffixes = {
        {send(1, {0}, kWork, 1), recv_reduce(1, {0}, Side::right), send(1, {0}), send(2, {0})},
        {send(1, {0}, kWork, 1), recv(1, {0})}};
    ops_of(programs, 1) = {recv(0, {0}, 1, 1)};
    programs[1].suffixes = {{send(0, {0}), recv(0, {0})},
                            {schedule::reduce({1, kWork}, {0}), send(0, {0}), send(2, {0})}};
    programs[2].suffixes = {{recv(0, {0})}, {recv(1, {0})}};
    Schedule schedule = assemble("chosen_root", {Collective::allreduce, 3, 1}, std::move(programs));
    schedule.token = Token{2, 2, 0};
    return schedule;
}

} // namespace stretto::test
