// SPDX-License-Identifier: BSD-3-Clause
// The order in which the threads of a rank make calls of a communicator: a lock that they get in
// the order in which they come.
//
// A thread holds it while it prepares and begins a call.  A blocking call is usually over before
// another thread comes; so its thread keeps the lock, looks while it waits whether another thread
// has come (wanted()), and only then gives it up.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/shm/segment.hpp"
#include "transport/wait/doorbell.hpp"

namespace stretto::engine {

class CallOrder {
public:
    CallOrder(transport::Segment &segment, int rank) : segment_(segment), rank_(rank) {}

    // Of a thread that holds the lock: whether another one waits for it.
    bool wanted() const {
        return next_.load(std::memory_order_seq_cst) !=
               serving_.load(std::memory_order_relaxed) + 1;
    }

    // Lets the threads that wait go first.  The caller holds the lock.
    void give_way() {
        if (wanted()) {
            give();
            take();
        }
    }

    // Runs `body` while no other thread of this rank begins a call.
    template<class Body>
    decltype(auto) run(Body &&body) {
        const Hold hold(*this);
        return body();
    }

    class Hold {
    public:
        explicit Hold(CallOrder &order) : order_(order) { take(); }
        ~Hold() { give(); }
        Hold(const Hold &) = delete;
        Hold &operator=(const Hold &) = delete;

        // Do nothing if the thread holds the lock already, or no more.
        void take() {
            if (!held_)
                order_.take();
            held_ = true;
        }
        void give() {
            if (held_)
                order_.give();
            held_ = false;
        }

    private:
        CallOrder &order_;
        bool held_ = false;
    };

private:
    void take() {
        const std::uint32_t mine = next_.fetch_add(1, std::memory_order_seq_cst);
        if (serving_.load(std::memory_order_acquire) != mine) [[unlikely]]
            wait(mine);
    }
    [[gnu::noinline]] void wait(std::uint32_t mine) {
        for (;;) {
            const std::uint32_t serving = serving_.load(std::memory_order_acquire);
            if (serving == mine)
                return;
            transport::Doorbell(segment_, rank_).ring(); // the holder may sleep in its call
            serving_.wait(serving, std::memory_order_acquire);
        }
    }
    void give() {
        const std::uint32_t next = serving_.load(std::memory_order_relaxed) + 1;
        serving_.exchange(next, std::memory_order_seq_cst);
        if (next_.load(std::memory_order_seq_cst) != next) [[unlikely]]
            serving_.notify_all();
    }

    std::atomic<std::uint32_t> next_{0}, serving_{0};
    transport::Segment &segment_;
    const int rank_;
};

} // namespace stretto::engine
