// SPDX-License-Identifier: BSD-3-Clause
// Collect and fold: one position receives a block of everybody and reduces it, in the order of
// positions whatever the order of arrival.
//
//   slot j   the contribution of position p + j, around the circle; so slot 0, `work`, is p's own
//
//   5 ranks, p = 3: receives from 2, 1, 0, 4 into slots 4, 3, 2, 1, then folds slots 2 3 4 0 1.
//
// Position p + 1 sends to p last and p - 1 first (all begin with their next), so p receives from
// p - 1 first: with one message at a time in and out, the P - 1 messages of all take P - 1 rounds.
#include <algorithm>
#include <utility>

#include "algorithms/parts.hpp"

namespace stretto::algorithms {

using schedule::Slot;
using Slots = std::vector<Slot>;

// The canonical tree splits a range of positions at the largest power of two below its size, left
// before right.  Along its left edge it is a fold of ranges that double:
//
//   8:  ((01)(23)) ((45)(67))  =  fold of  0, 1, (23), ((45)(67))
//   7:  ((01)(23)) ((45) 6)    =  fold of  0, 1, (23), ((45) 6)
//
// so it takes about ranks / 2 n-ary passes.  Returns the slot that holds the result.
static Slot append_canonical(Ops &ops, const Slots &sources, std::size_t first, std::size_t size,
                             Slot into, Block block) {
    if (size == 1)
        return sources[first];
    Slots items = {sources[first]};
    for (std::size_t done = 1; done < size; done *= 2) {
        const std::size_t from = first + done;
        items.push_back(append_canonical(ops, sources, from, std::min(done, size - done),
                                         sources[from], block));
    }
    ops.push_back(schedule::reduce(std::move(items), {block}, into));
    return into;
}

void append_collect(Ops &ops, Position position, Position ranks, Block block, Tree tree,
                    Lane lane) {
    Slots sources(static_cast<std::size_t>(ranks), kWork);
    for (Position back = 1; back < ranks; ++back) {
        const Position peer = shifted(position, -back, ranks);
        const Slot slot = ranks - back;
        ops.push_back(schedule::recv(peer, {block}, slot, lane));
        sources[static_cast<std::size_t>(peer)] = slot;
    }
    if (tree == Tree::chain)
        ops.push_back(schedule::reduce(std::move(sources), {block}));
    else
        append_canonical(ops, sources, 0, sources.size(), kWork, block);
}

} // namespace stretto::algorithms
