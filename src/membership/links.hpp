// SPDX-License-Identifier: BSD-3-Clause
// The interface of the network that an agent uses: it sends bytes to another rank, and calls a
// listener for received bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "membership/rank_set.hpp"

namespace stretto::membership {

class Links {
public:
    // Called by wait() only.
    class Listener {
    public:
        virtual void on_bytes(int from, std::span<const std::byte> bytes) = 0; // of one send()
        // The link broke and will not come back: the rank has died, or was replaced.
        virtual void on_broken(int rank, std::string_view why) = 0;
        // The link broke and is back; the last messages of either direction may be lost.
        virtual void on_restored(int rank) = 0;

    protected:
        ~Listener() = default;
    };

    virtual ~Links() = default;
    // Only the agent's thread calls send(), wait() and drain().
    //
    // Does not wait for the receiver.  The bytes arrive whole, after those of all earlier sends to
    // the same rank; or the listeners at both ends are called because the link broke.
    virtual void send(int to, std::span<const std::byte> bytes) = 0;
    // Calls the listener for all that has arrived.  If nothing has, waits until something arrives,
    // wake() is called, or this time is over.
    virtual void wait(Listener &listener, std::uint64_t nanoseconds) = 0;
    // Waits until these ranks have received the last messages to them, but only for a limited time.
    virtual void drain(const RankSet &ranks) = 0;
    // Any thread may call this: ends the present wait(), or else the next one.
    virtual void wake() = 0;
};

} // namespace stretto::membership
