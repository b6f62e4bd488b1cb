// SPDX-License-Identifier: BSD-3-Clause
// Which payloads need not be stored when buffers lie in the shared heap.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/lower.hpp"
#include "engine/plan.hpp"

namespace stretto::engine {

// What the passes of one position allow; whether the buffers of a call do is known when it is made.
class DirectAccess {
public:
    DirectAccess(const Lowered &lowered, Position position);

    // Whether the readers of a published pass may take the contribution where it lies.
    Direct lendable(std::int32_t pass) const;

    // Whether a published pass may store its result into the output of a reader, which does nothing
    // but copy it there.
    Direct pushable(std::int32_t pass, const Reader &reader) const;

private:
    const Pass &pass_of(const Reader &reader) const {
        return lowered_
            .passes[lowered_.index(reader.position)][static_cast<std::size_t>(reader.pass)];
    }

    const Lowered &lowered_;
    const Position position_;
    const std::size_t p_;
    std::vector<std::vector<std::int32_t>> followers_; // by pass: who names it in `after`
};

} // namespace stretto::engine
