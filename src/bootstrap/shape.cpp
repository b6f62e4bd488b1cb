// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/shape.hpp"

#include <algorithm>
#include <unistd.h>

#include "base/settings.hpp"
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
        shape.ring_bytes = std::min(shape.ring_bytes, origin->ring_bytes);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t least = std::max<std::size_t>(page, info(Setting::ring_bytes).least);
    if ((shape.ring_bytes & (shape.ring_bytes - 1)) != 0 || shape.ring_bytes < least)
        throw Error(Status::argument, "STRETTO_RING_BYTES is " + std::to_string(shape.ring_bytes) +
                                          "; it takes a power of two of at least " +
                                          std::to_string(least));
    if (shape.heap_bytes % page != 0 || shape.heap_bytes == 0)
        throw Error(Status::argument,
                    "STRETTO_HEAP_BYTES takes a multiple of the page size " + std::to_string(page));
    return shape;
}

} // namespace stretto::bootstrap
