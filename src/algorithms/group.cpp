// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/group.hpp"

#include <utility>

namespace stretto::algorithms {

using schedule::Position;

Group::Group(std::vector<Position> orders)
    : orders_(std::move(orders)), strides_(orders_.size(), 1) {
    for (std::size_t f = orders_.size(); f-- > 1;)
        strides_[f - 1] = strides_[f] * orders_[f];
}

Position Group::size() const {
    return orders_.empty() ? 1 : strides_.front() * orders_.front();
}

Position Group::digit(Position position, std::size_t factor) const {
    return position / strides_[factor] % orders_[factor];
}

Position Group::moved(Position position, std::size_t factor, Position by) const {
    const Position n = orders_[factor], old = digit(position, factor);
    return position + ((old + by % n + n) % n - old) * strides_[factor];
}

} // namespace stretto::algorithms
