// SPDX-License-Identifier: BSD-3-Clause
#include "cost/slicing.hpp"

#include <algorithm>

#include "schedule/slices.hpp"

namespace stretto::cost {

using schedule::Block;

Slicing::Slicing(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
                 std::size_t slice, std::size_t most, bool alike)
    : bounds_(schedule.partition.bounds(count)), each_(count / (bounds_.size() - 1)),
      rest_(count % (bounds_.size() - 1)), element_(element), slice_(slice), most_(most),
      alike_(alike), one_(share(1)) {
    for (std::size_t &bound : bounds_)
        bound *= element;
}

std::size_t Slicing::share(std::size_t blocks) const {
    const std::size_t all = bounds_.size() - 1;
    // Without a product of two large numbers: count = each * all + rest.
    return (blocks * each_ + (blocks * rest_ + all - 1) / all) * element_;
}

std::size_t Slicing::bytes(Block block) const {
    const auto b = static_cast<std::size_t>(block);
    return alike_ ? one_ : bounds_[b + 1] - bounds_[b];
}

std::size_t Slicing::bytes(const std::vector<Block> &blocks) const {
    if (alike_)
        return share(blocks.size());
    std::size_t sum = 0;
    for (const Block block : blocks)
        sum += bytes(block);
    return sum;
}

void Slicing::cut(const std::vector<Block> &blocks, Cut &result) const {
    result.pieces.clear();
    result.places.clear();
    std::size_t together = 0, held = 0; // blocks in the last slice, and their bytes
    for (const Block block : blocks) {
        const std::size_t length = bytes(block);
        const std::size_t joined = together == 0 ? schedule::kNoJoin
                                   : alike_      ? share(together + 1)
                                                 : held + length;
        const std::size_t slices = schedule::slices_begun(length, joined, slice_);
        const auto next = static_cast<std::uint32_t>(result.pieces.size());
        if (length == 0) {
            result.places.push_back({next, 0});
            continue;
        }
        if (slices == 0) {
            result.places.push_back({next - 1, 1});
            result.pieces.back().bytes += static_cast<double>(joined - held);
            held = joined;
            ++together;
            continue;
        }
        const std::size_t walked = std::min(slices, most_);
        const auto n = static_cast<double>(walked);
        for (std::size_t i = 0; i < walked; ++i)
            result.pieces.push_back({static_cast<double>(length) / n,
                                     static_cast<double>(slices) / n,
                                     static_cast<std::int32_t>(i)});
        result.places.push_back({next, static_cast<std::uint32_t>(walked)});
        held = (length - 1) % schedule::slice_length(length, slice_, element_) + 1;
        together = 1;
    }
}

} // namespace stretto::cost
