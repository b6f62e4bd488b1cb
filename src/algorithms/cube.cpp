// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/cube.hpp"

#include <algorithm>
#include <utility>

namespace stretto::algorithms {

Blocks Cube::share(Position number, int level) const {
    // The chunks that agree with the member's own in the first `level` bits.
    const int free_bits = dimensions - level;
    const Position own = reversed(number, dimensions);
    const auto first = static_cast<std::size_t>(own >> free_bits << free_bits);
    Blocks blocks;
    for (std::size_t chunk = first; chunk < first + (std::size_t{1} << free_bits); ++chunk)
        blocks.insert(blocks.end(), chunks[chunk].begin(), chunks[chunk].end());
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

Cube cube_of(std::vector<Position> members) {
    Cube cube;
    cube.dimensions = log2_floor(static_cast<Position>(members.size()));
    cube.members = std::move(members);
    for (Block b = 0; b < Block{1} << cube.dimensions; ++b)
        cube.chunks.push_back({b});
    return cube;
}

Position reversed(Position number, int bits) {
    Position result = 0;
    for (int i = 0; i < bits; ++i)
        result |= (number >> i & 1) << (bits - 1 - i);
    return result;
}

Schedule allreduce_along_cube(const Problem &problem, Generator generate) {
    const int dimensions = log2_floor(problem.ranks);
    return alike(assemble(Collective::allreduce, problem,
                          Partition::even(Position{1} << dimensions), hypercube(problem.ranks),
                          std::move(generate)),
                 relative_in_cube(dimensions));
}

Relative relative_in_cube(int dimensions) {
    return [dimensions](Position position, Block block) {
        const Position number = position & ((Position{1} << dimensions) - 1);
        return reversed(block, dimensions) ^ number;
    };
}

void append_halving(Ops &ops, const Cube &cube, Position number, int first, Lane lane) {
    for (int i = first; i < cube.dimensions; ++i) {
        const Position partner = number ^ Position{1} << i;
        const Position peer = cube.member(partner);
        ops.push_back(schedule::send(peer, cube.share(partner, i + 1), kWork, lane));
        ops.push_back(schedule::recv_reduce(peer, cube.share(number, i + 1),
                                            side_of(partner, number), kWork, kWork, lane));
    }
}

void append_doubling(Ops &ops, const Cube &cube, Position number, int last, Lane lane) {
    for (int i = cube.dimensions - 1; i >= last; --i) {
        const Position partner = number ^ Position{1} << i;
        const Position peer = cube.member(partner);
        ops.push_back(schedule::send(peer, cube.share(number, i + 1), kWork, lane));
        ops.push_back(schedule::recv(peer, cube.share(partner, i + 1), kWork, lane));
    }
}

void append_exchanges(Ops &ops, const Cube &cube, Position number, const Blocks &blocks,
                      Lane lane) {
    using schedule::Slot;
    constexpr Slot kScratch = 1;
    Slot held = kWork;
    for (int i = 0; i < cube.dimensions; ++i) {
        const Position partner = number ^ Position{1} << i;
        const Position peer = cube.member(partner);
        const Side side = side_of(partner, number);
        const Slot next = held == kWork ? kScratch : kWork;
        ops.push_back(schedule::send(peer, blocks, held, lane));
        if (i + 1 < cube.dimensions || next == kWork) {
            ops.push_back(schedule::recv_reduce(peer, blocks, side, held, next, lane));
            held = next;
        } else {
            ops.push_back(schedule::recv(peer, blocks, kScratch, lane));
            ops.push_back(side == Side::left ? schedule::reduce({kScratch, kWork}, blocks)
                                             : schedule::reduce({kWork, kScratch}, blocks));
        }
    }
}

Fold::Fold(Position ranks)
    : dimensions(log2_floor(ranks)), power(Position{1} << dimensions), surplus(ranks - power) {}

std::vector<Position> Fold::members() const {
    std::vector<Position> found;
    for (Position v = 0; v < power; ++v)
        found.push_back(v < surplus ? 2 * v : v + surplus);
    return found;
}

bool folds_canonically(Position ranks) {
    return power_of_two(ranks + (ranks & -ranks));
}

} // namespace stretto::algorithms
