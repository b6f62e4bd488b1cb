// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/payloads.hpp"

#include <algorithm>

#include "transport/shm/cell.hpp"

namespace stretto::transport {

// Whether the sender has overwritten it, in either ring.
bool RemotePayloads::is_over(const Live &live, const WireMessage &packet) const {
    const bool is_bulk = (packet.flags & WireMessage::kBulk) != 0;
    const std::uint64_t end =
        packet.position + (is_bulk ? std::size_t{kLineBytes} : extent(packet.length).cells);
    if (live.position + ring_bytes_ < end)
        return true;
    const std::uint64_t mask = ring_bytes_ - 1;
    return live.position < packet.position && live.is_bulk && is_bulk &&
           (((packet.where - live.where) & mask) < live.length ||
            ((live.where - packet.where) & mask) < packet.length);
}

std::byte *RemotePayloads::place(const WireMessage &packet) {
    while (!live_.empty() && is_over(live_.front(), packet)) {
        pool_->give(live_.front().memory);
        live_.pop_front();
    }
    // Nearly always the last one; payloads on several connections may overtake one another.
    auto next = live_.end();
    while (next != live_.begin() && std::prev(next)->position >= packet.position)
        --next;
    if (next != live_.end() && next->position == packet.position)
        return next->memory;
    next = live_.insert(next, {packet.position, (packet.flags & WireMessage::kBulk) != 0,
                               packet.where, packet.length, nullptr});
    try {
        next->memory = pool_->take(packet.length);
    } catch (...) {
        live_.erase(next);
        throw;
    }
    return next->memory;
}

std::byte *RemotePayloads::at(std::uint64_t position) const {
    const auto found = std::ranges::lower_bound(live_, position, {}, &Live::position);
    return found != live_.end() && found->position == position ? found->memory : nullptr;
}

void RemotePayloads::taken(std::uint64_t position) {
    for (; !live_.empty() && live_.front().position < position; live_.pop_front())
        pool_->give(live_.front().memory);
}

} // namespace stretto::transport
