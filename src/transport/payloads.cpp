// SPDX-License-Identifier: BSD-3-Clause
#include "transport/payloads.hpp"

#include <algorithm>

#include "transport/cell.hpp"

namespace stretto::transport {

// Whether the sender has written over it, in the one ring or in the other.
bool Payloads::is_over(const Live &live, const Parcel &parcel) const {
    const bool is_bulk = (parcel.flags & Parcel::kBulk) != 0;
    const std::uint64_t end =
        parcel.position + (is_bulk ? std::size_t{kLine} : extent(parcel.length).cells);
    if (live.position + ring_bytes_ < end)
        return true;
    const std::uint64_t mask = ring_bytes_ - 1;
    return live.position < parcel.position && live.is_bulk && is_bulk &&
           (((parcel.where - live.where) & mask) < live.length ||
            ((live.where - parcel.where) & mask) < parcel.length);
}

std::byte *Payloads::place(const Parcel &parcel) {
    while (!live_.empty() && is_over(live_.front(), parcel)) {
        pool_->give(live_.front().memory);
        live_.pop_front();
    }
    // Nearly always the last: on several connections some overtake others.
    auto next = live_.end();
    while (next != live_.begin() && std::prev(next)->position >= parcel.position)
        --next;
    if (next != live_.end() && next->position == parcel.position)
        return next->memory;
    next = live_.insert(next, {parcel.position, (parcel.flags & Parcel::kBulk) != 0, parcel.where,
                               parcel.length, nullptr});
    try {
        next->memory = pool_->take(parcel.length);
    } catch (...) {
        live_.erase(next);
        throw;
    }
    return next->memory;
}

std::byte *Payloads::at(std::uint64_t position) const {
    const auto found = std::ranges::lower_bound(live_, position, {}, &Live::position);
    return found != live_.end() && found->position == position ? found->memory : nullptr;
}

void Payloads::taken(std::uint64_t position) {
    for (; !live_.empty() && live_.front().position < position; live_.pop_front())
        pool_->give(live_.front().memory);
}

} // namespace stretto::transport
