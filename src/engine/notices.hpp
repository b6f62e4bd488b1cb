// SPDX-License-Identifier: BSD-3-Clause
// Tells the program that requests have ended, by a function of its own for each.
//
// A request ends while a thread holds locks of the library, and the program's function may take
// locks of the program.  So the end is posted, and a thread delivers what was posted when it holds
// no lock any more: that thread itself, or another one of this rank that is in the library.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/status.hpp"

namespace stretto::engine {

// Of one request.
struct Notice {
    std::function<void(Status status, const char *message)> function; // must not throw
    int parts = 1;                             // of the request that have not ended
    std::optional<Error> error = std::nullopt; // the first
    std::unique_ptr<Notice> next = nullptr;
};

class Notices {
public:
    Notices() = default;
    Notices(const Notices &) = delete;
    Notices &operator=(const Notices &) = delete;

    // A part of the request has ended; after the last one the notice is posted, and belongs to this
    // object.  Parts of one request end under one lock.
    void part_ended(Notice *notice, const std::optional<Error> &error) noexcept;

    bool any() const { return any_.load(std::memory_order_acquire); }
    // Calls the functions of all that was posted.  The caller holds no lock.
    void deliver() noexcept {
        if (any()) [[unlikely]]
            deliver_all();
    }

    // Delivers at its end.  It is made before a lock is taken.
    class Delivery {
    public:
        explicit Delivery(Notices &notices) : notices_(notices) {}
        ~Delivery() { notices_.deliver(); }
        Delivery(const Delivery &) = delete;
        Delivery &operator=(const Delivery &) = delete;

    private:
        Notices &notices_;
    };

private:
    void deliver_all() noexcept;

    std::atomic<bool> any_{false};
    std::mutex mutex_;
    std::unique_ptr<Notice> first_; // posted, oldest first
    Notice *last_ = nullptr;
};

} // namespace stretto::engine
