// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/shape.hpp"

#include <algorithm>

#include "select/select.hpp"
#include "tuning/network.hpp"

namespace stretto::bootstrap {

transport::SegmentShape shape_for(const Config &config, int ranks, unsigned cores,
                                  const ParentContext *origin) {
    transport::SegmentShape shape;
    shape.ranks = ranks;
    shape.cores = cores;
    shape.heap_bytes = config.shape.heap_bytes;
    shape.slice_bytes = config.shape.slice_bytes;
    shape.profile = origin == nullptr && tuning::names_profile(config.tuning);
    shape.ring_bytes = config.shape.ring_bytes;
    if (shape.ring_bytes == 0)
        shape.ring_bytes = select::ring_bytes(ranks);
    if (origin != nullptr)
        shape.ring_bytes = std::min(shape.ring_bytes, origin->segment->ring_bytes());
    return shape;
}

} // namespace stretto::bootstrap
