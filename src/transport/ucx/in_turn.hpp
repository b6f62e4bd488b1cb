// SPDX-License-Identifier: BSD-3-Clause
// UCX may let one message overtake another: by another device, or since one goes in several parts.
// The receiver delivers those that have to keep their order in their turns, and keeps what comes
// too early.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace stretto::transport {

// Turns begin at 1.
template<class Message>
class InTurn {
public:
    // Whether a message of this turn is to be delivered now.
    bool is_next(std::uint32_t turn) const { return turn == next_; }
    // It has been delivered.
    void delivered() { next_ = after(next_); }
    void keep(std::uint32_t turn, Message message) { early_.emplace(turn, std::move(message)); }
    // The one that was kept for the next turn, taken out; `none` if there is none.
    bool take_next(Message &message) {
        const auto found = early_.find(next_);
        if (found == early_.end())
            return false;
        message = std::move(found->second);
        early_.erase(found);
        return true;
    }
    // 0 is no turn.
    static std::uint32_t after(std::uint32_t turn) { return turn + 1 == 0 ? 1 : turn + 1; }

private:
    std::uint32_t next_ = 1;
    std::map<std::uint32_t, Message> early_;
};

} // namespace stretto::transport
