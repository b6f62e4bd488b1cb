// SPDX-License-Identifier: BSD-3-Clause
#include "engine/blocks.hpp"

#include <algorithm>

namespace stretto::engine {

Blocks::Blocks(const schedule::Partition &partition, std::size_t count, std::size_t element,
               Piece piece) {
    const std::vector<std::size_t> bounds = partition.bounds(count);
    pieces_.reserve(bounds.size() - 1);
    for (std::size_t b = 0; b + 1 < bounds.size(); ++b) {
        const std::size_t block = (bounds[b + 1] - bounds[b]) * element;
        const std::size_t skipped = std::min(piece.first, block);
        pieces_.push_back({bounds[b] * element + skipped, std::min(piece.length, block - skipped)});
    }
    const auto [least, longest] =
        std::ranges::minmax(pieces_, {}, [](const Piece &each) { return each.length; });
    least_ = least.length;
    longest_ = longest.length;
}

} // namespace stretto::engine
