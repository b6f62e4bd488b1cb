// SPDX-License-Identifier: BSD-3-Clause
// The actions of one step of the protocol, in the order in which the agent must do them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "membership/message.hpp"

namespace stretto::membership {

namespace action {

struct Send {
    int to = kNoRank;
    Message message;
    friend auto operator<=>(const Send &, const Send &) = default;
};
// The epoch has ended; once in an epoch.  The messages that must be sent before the caller learns
// of it come earlier in the list.
struct Revoked {
    Reason reason;
    friend auto operator<=>(const Revoked &, const Revoked &) = default;
};
enum class Outcome : std::uint8_t {
    succeeded,   // the member belongs to the next view
    excluded,    // others go on without it
    no_majority, // the members that it can reach are too few to go on
};
// The answer to the caller of shrink.
struct Shrunk {
    Outcome outcome = Outcome::succeeded;
    View view; // the next view; if this rank is excluded, the view of the others
    friend auto operator<=>(const Shrunk &, const Shrunk &) = default;
};
// A value is decided: the answer to callers of decide().
struct ValueDecided {
    std::uint64_t key = 0;
    std::string value;
    friend auto operator<=>(const ValueDecided &, const ValueDecided &) = default;
};

} // namespace action

using Action = std::variant<action::Send, action::Revoked, action::Shrunk, action::ValueDecided>;
using Actions = std::vector<Action>;

class Outbox {
public:
    void send(int to, std::uint32_t epoch, Body body) {
        actions_.emplace_back(action::Send{to, {epoch, std::move(body)}});
    }
    void add(Action action) { actions_.push_back(std::move(action)); }
    Actions take() { return std::move(actions_); }

private:
    Actions actions_;
};

} // namespace stretto::membership
