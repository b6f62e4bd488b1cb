// SPDX-License-Identifier: BSD-3-Clause
// What an agent needs of a network: to hand over bytes for another rank, and to be told of those
// that come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "membership/rank_set.hpp"

namespace stretto::membership {

class Links {
public:
    // Called from within wait() alone.
    class Listener {
    public:
        virtual void on_bytes(int from, std::span<const std::byte> bytes) = 0; // of one send()
        // The link is gone and does not come back: the rank has died, or is another one.
        virtual void on_broken(int rank, std::string_view why) = 0;
        // It broke and has come back; what was sent last, in either direction, may be lost.
        virtual void on_restored(int rank) = 0;

    protected:
        ~Listener() = default;
    };

    virtual ~Links() = default;
    // These by the agent's thread alone.
    //
    // Does not wait for the other side.  The bytes arrive whole, after those of all sends to the
    // same rank before, or the listeners at both ends are told that the link broke.
    virtual void send(int to, std::span<const std::byte> bytes) = 0;
    // Tells the listener what has come; if nothing has, waits until something does, wake() is
    // called, or the time is over.
    virtual void wait(Listener &listener, std::uint64_t nanoseconds) = 0;
    // Waits until these have what was sent to them last, but not for those that do not answer.
    virtual void drain(const RankSet &ranks) = 0;
    // By any thread: ends the wait, or the next one if there is none now.
    virtual void wake() = 0;
};

} // namespace stretto::membership
