// SPDX-License-Identifier: BSD-3-Clause
// Finds the payloads that need not be stored in cells if buffers are in the shared heap.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/lower.hpp"
#include "engine/plan.hpp"

namespace stretto::engine {

// What the passes of one position allow.  Whether the buffers of a call allow it is known only when
// the call is made.
class ZeroCopyRules {
public:
    ZeroCopyRules(const Lowered &lowered, Position position);

    // Zero-copy read: whether the readers of a published pass may read the contribution in place.
    ZeroCopy readable_in_place(std::int32_t pass) const;

    // Zero-copy write: whether a published pass may store its result into the output of a reader
    // that only copies it there.
    ZeroCopy writable(std::int32_t pass, const Reader &reader) const;

private:
    const Pass &pass_of(const Reader &reader) const {
        return lowered_
            .passes[lowered_.index(reader.position)][static_cast<std::size_t>(reader.pass)];
    }

    const Lowered &lowered_;
    const Position position_;
    const std::size_t p_;
    std::vector<std::vector<std::int32_t>>
        followers_; // by pass: the passes that name it in `after`
};

} // namespace stretto::engine
