// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/symmetry.hpp"

#include <utility>

namespace stretto::schedule {

Symmetry::Symmetry(std::vector<Position> orders)
    : orders_(std::move(orders)), strides_(orders_.size(), 1) {
    for (std::size_t f = orders_.size(); f-- > 1;)
        strides_[f - 1] = strides_[f] * orders_[f];
}

Symmetry Symmetry::cyclic(Position ranks) {
    return Symmetry(ranks > 1 ? std::vector<Position>{ranks} : std::vector<Position>{});
}

Position Symmetry::size() const {
    return orders_.empty() ? 1 : strides_.front() * orders_.front();
}

Position Symmetry::digit(Position position, std::size_t factor) const {
    return position / strides_[factor] % orders_[factor];
}

Position Symmetry::moved(Position position, std::size_t factor, Position by) const {
    const Position n = orders_[factor], old = digit(position, factor);
    return position + ((old + by % n + n) % n - old) * strides_[factor];
}

Position Symmetry::sum(Position a, Position b) const {
    Position result = 0;
    for (std::size_t f = factors(); f-- > 0;) {
        const Position n = orders_[f], digit = a % n + b % n;
        result += (digit < n ? digit : digit - n) * strides_[f];
        a /= n;
        b /= n;
    }
    return result;
}

Position Symmetry::difference(Position a, Position b) const {
    Position result = 0;
    for (std::size_t f = factors(); f-- > 0;) {
        const Position n = orders_[f], digit = a % n - b % n;
        result += (digit >= 0 ? digit : digit + n) * strides_[f];
        a /= n;
        b /= n;
    }
    return result;
}

} // namespace stretto::schedule
