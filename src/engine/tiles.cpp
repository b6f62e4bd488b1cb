// SPDX-License-Identifier: BSD-3-Clause
// Calls in several tiles: from one to the next.
#include <algorithm>
#include <utility>

#include "engine/engine.hpp"
#include "engine/issued.hpp"
#include "engine/leading.hpp"

namespace stretto::engine {

TileRun::TileRun() = default;
TileRun::TileRun(TileRun &&other) noexcept = default;
TileRun &TileRun::operator=(TileRun &&other) noexcept = default;
TileRun::~TileRun() = default;

Run::Run() = default;
Run::Run(Run &&other) noexcept = default;
Run &Run::operator=(Run &&other) noexcept = default;
Run::~Run() = default;

void TileRun::make_room(const Plan &whole) {
    std::size_t steps = whole.steps.size();
    if (whole.tiles)
        steps = std::max(steps, whole.tiles->last->steps.size());
    done.assign(steps / 64 + 1, 0);
    in_place_cells.assign(steps, 0);
    ins.assign(whole.most_operands, nullptr);
    outs.assign(whole.most_outputs, nullptr);
    if (scratch.size() < whole.scratch_bytes)
        scratch.resize(whole.scratch_bytes);
}

// Takes all the memory that tiles need, before the rank announces the call.
void Engine::begin_tiles(Run &run) {
    const Plan &whole = *run.call->plan;
    if (run.following == nullptr)
        run.following = std::make_unique<Run>();
    Run &following = *run.following;
    following.make_room(whole);
    run.own_bases.resize(whole.cell_bytes.size());
    following.own_bases.resize(whole.cell_bytes.size());
    following.call = run.call;
    following.sequence = run.sequence;
    following.signature = run.signature;
    following.attached = run.attached;
    following.sends_in_place = run.sends_in_place;
    following.input_place = run.input_place;
    following.output_place = run.output_place;
    following.steps_share = run.steps_share;
    run.first_bases = run.bases;
    run.first_bulk_base = run.bulk_base;
    run.tiles_left = whole.tiles->count;
    follow(run);
}

// Sets up the tile after this one.
void Engine::follow(Run &run) {
    const Plan &whole = *run.call->plan;
    const Tiles &tiles = *whole.tiles;
    Run &next = *run.following;
    next.tile = run.tile + 1;
    const bool last = next.tile == tiles.count;
    next.plan = last ? tiles.last.get() : &whole;
    next.shift = last ? 0 : next.tile * tiles.stride;
    next.base[0] = run.base[0] - run.shift + next.shift;
    next.base[1] = run.base[1] - run.shift + next.shift;
    next.base[2] = reinterpret_cast<std::uintptr_t>(next.scratch.data());
    for (std::size_t rank = 0; rank < next.own_bases.size(); ++rank)
        next.own_bases[rank] = run.first_bases[rank] + next.tile * tiles.cell_bytes[rank];
    next.bases = next.own_bases.data();
    next.bulk_base = run.first_bulk_base + next.tile * tiles.own.bulk;
    next.origin = next.tile * tiles.span;
    next.next = next.ahead = next.cells_in_use = next.settled = 0;
}

bool Engine::next_tile(Run &run) {
    if (run.tiles_left == 0)
        return false;
    std::swap(static_cast<TileRun &>(run), static_cast<TileRun &>(*run.following));
    if (--run.tiles_left != 0)
        follow(run);
    return true;
}

} // namespace stretto::engine
