// SPDX-License-Identifier: BSD-3-Clause
// Ordering: from passes with dependencies to one sequence per position, and a place in its
// publisher's stream for every cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/lower.hpp"
#include "transport/shm/cell.hpp"

namespace stretto::engine {

struct Order {
    std::vector<std::vector<std::int32_t>> sequence;   // by index: passes, first to last
    std::vector<std::vector<std::int32_t>> rank_of;    // by index, pass: its place in the sequence
    std::vector<std::vector<transport::Extent>> place; // by index, publish: in its streams
    std::vector<transport::Extent> total;              // by index: of the whole call
};

// Which of the cells of a layer a position publishes first.
//
// In a direct exchange each position begins with the next one.  A pass that reads a cell of every
// position can run only when the slowest of them has come round to it: rings must hold whole
// vectors.  If all positions publish for position 0 first, then for 1, rings of a few cells do.
enum class Publishing : std::uint8_t {
    by_op,     // as in the position's own program
    by_reader, // for the lowest position first; not where one position stands for all
    granted,   // as in the program, each cell when all its readers are ready to take it
};

struct OrderOptions {
    std::size_t ring_bytes = 1 << 21;
    std::int32_t latency = 2; // rounds until a published cell is counted on
    Publishing publishing = Publishing::by_op;
};

// Plays all positions in rounds, one pass each, within the capacity of the rings; each position
// takes the lowest layer that is ready.  The result is a legal execution, so ranks that follow
// their sequences with blocking waits cannot deadlock, whatever their speeds: in any state, the
// rank whose next pass was played first can run.  If one position stands for all, it is played
// alone: all do the same in each round, so in a round other ranks take from it what it takes from
// others.  Nothing if all positions got stuck, which a small ring or fused receives can cause.
std::optional<Order> order(const Lowered &lowered, const OrderOptions &options);

} // namespace stretto::engine
