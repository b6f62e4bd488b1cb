// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/circulant.hpp"

#include <algorithm>

#include "base/reversed.hpp"

namespace stretto::algorithms {

using schedule::Slot;

Rounds halving_rounds(Position ranks) {
    Rounds rounds;
    for (Position left = ranks; left > 1; left = (left + 1) / 2)
        rounds.push_back({(left + 1) / 2, left / 2});
    return rounds;
}

Rounds doubling_rounds(Position ranks) {
    Rounds rounds;
    for (Position reach = Position{1} << log2_ceil(ranks); reach > 1; reach /= 2)
        rounds.push_back({reach / 2, std::min(reach, ranks) - reach / 2});
    return rounds;
}

// Blocks of offsets `from` ... `from` + size - 1 of a position, ascending, so that neighbours in
// memory travel together: 4 offsets of 5 from 3 are 0 1 3 4.
static Blocks offsets(Position position, Position from, Position size, Position ranks) {
    Blocks blocks;
    for (Position j = from; j < from + size; ++j)
        blocks.push_back(shifted(position, j, ranks));
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

void append_circulant_reduce_scatter(Ops &ops, Position position, Position ranks,
                                     const Rounds &rounds, Slot slot, Lane lane) {
    for (const auto [skip, size] : rounds) {
        const Position source = shifted(position, -skip, ranks);
        ops.push_back(schedule::send(shifted(position, skip, ranks),
                                     offsets(position, skip, size, ranks), slot, lane));
        ops.push_back(schedule::recv_reduce(source, offsets(position, 0, size, ranks),
                                            side_of(source, position), slot, slot, lane));
    }
}

void append_circulant_allgather(Ops &ops, Position position, Position ranks, const Rounds &rounds,
                                Slot slot, Lane lane) {
    for (const auto [skip, size] : reversed(rounds)) {
        ops.push_back(schedule::send(shifted(position, -skip, ranks),
                                     offsets(position, 0, size, ranks), slot, lane));
        ops.push_back(schedule::recv(shifted(position, skip, ranks),
                                     offsets(position, skip, size, ranks), slot, lane));
    }
}

} // namespace stretto::algorithms
