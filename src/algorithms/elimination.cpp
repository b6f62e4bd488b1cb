// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/elimination.hpp"

#include <algorithm>

namespace stretto::algorithms {

Groups::Groups(Position ranks)
    : power(Position{1} << log2_floor(ranks)), surplus(ranks - power),
      width(surplus > power / 2 ? 4 : 2), wide(power / 2 - std::min(surplus, power - surplus)) {}

Groups::Seat Groups::seat(Position position) const {
    const Position triples = wide * width; // the first position behind the wide groups
    if (position < triples)
        return {position / width, position / width * width, position % width, width};
    const Position place = (position - triples) % 3;
    return {wide + (position - triples) / 3, position - place, place, 3};
}

std::vector<Position> Groups::members() const {
    std::vector<Position> found;
    for (Position position = 0; position < power + surplus; ++position)
        if (seat(position).member())
            found.push_back(position);
    return found;
}

void append_elimination(Ops &ops, const Cube &cube, const Groups::Seat &seat, Lane lane) {
    const Position a = seat.first, b = a + 1, c = a + 2;
    const Blocks lower = cube.share(0, 1), upper = cube.share(1, 1);
    const auto give = [&](Position peer, const Blocks &half) {
        ops.push_back(schedule::send(peer, half, kWork, lane));
    };
    const auto take = [&](Position peer, const Blocks &half, Side side) {
        ops.push_back(schedule::recv_reduce(peer, half, side, kWork, kWork, lane));
    };
    switch (seat.place) {
    case 0:
        give(b, lower);
        take(b, upper, Side::right);
        give(c, upper);
        break;
    case 1:
        give(a, upper);
        take(a, lower, Side::left);
        take(c, lower, Side::right);
        break;
    default: give(b, lower); take(a, upper, Side::left);
    }
}

void append_restoration(Ops &ops, const Cube &cube, const Groups::Seat &seat, Lane lane) {
    const Position a = seat.first, b = a + 1, c = a + 2;
    const Blocks lower = cube.share(0, 1), upper = cube.share(1, 1);
    const auto give = [&](Position peer, const Blocks &half) {
        ops.push_back(schedule::send(peer, half, kWork, lane));
    };
    const auto take = [&](Position peer, const Blocks &half) {
        ops.push_back(schedule::recv(peer, half, kWork, lane));
    };
    switch (seat.place) {
    case 0:
        take(c, upper);
        give(b, upper);
        take(b, lower);
        break;
    case 1:
        give(c, lower);
        give(a, lower);
        take(a, upper);
        break;
    default: give(a, upper); take(b, lower);
    }
}

} // namespace stretto::algorithms
