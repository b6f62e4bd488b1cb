// SPDX-License-Identifier: BSD-3-Clause
// The places of a call's buffers in the vector of its schedule.  A schedule has one vector of
// blocks.  A caller's buffers hold the whole of it, the part of this rank, or do not exist:
//
//
//                     input               output              in place
//                     root     others     root     others
//   allreduce         whole    whole      whole    whole      over
//   reduce            whole    whole      whole    -          over
//   broadcast         whole    whole      whole    whole      over (always)
//   barrier           whole    whole      whole    whole
//   reduce_scatter    whole    whole      own      own        moved
//   allgather         own      own        whole    whole      inside
//   gather            own      own        whole    -          inside
//   scatter           whole    -          own      own        kept
//   alltoall          whole    whole      whole    whole      over
//
//   over     the output lies over the input
//   inside   the contribution lies in the output, where the own part belongs
//   moved    the output lies over the beginning of the input, where other parts are still read:
//            it is made elsewhere and moved there in the end
//   kept     the own part stays in the input
//
// Collectives without a root look the same at all ranks.
#pragma once

#include <cstdint>

#include "schedule/contract.hpp"

namespace stretto::schedule {

enum class Holds : std::uint8_t { nothing, own, whole };
enum class InPlace : std::uint8_t { over, inside, moved, kept };

struct Buffers {
    Holds input, output;
};

struct Layout {
    Buffers root, others;
    InPlace in_place;

    // Every block has a place in every rank's output.
    bool output_everywhere() const {
        return root.output == Holds::whole && others.output == Holds::whole;
    }
};

constexpr Layout layout(Collective collective) {
    using enum Collective;
    using enum Holds;
    switch (collective) {
    case reduce: return {{whole, whole}, {whole, nothing}, InPlace::over};
    case reduce_scatter: return {{whole, own}, {whole, own}, InPlace::moved};
    case allgather: return {{own, whole}, {own, whole}, InPlace::inside};
    case gather: return {{own, whole}, {own, nothing}, InPlace::inside};
    case scatter: return {{whole, own}, {nothing, own}, InPlace::kept};
    default: return {{whole, whole}, {whole, whole}, InPlace::over};
    }
}

} // namespace stretto::schedule
