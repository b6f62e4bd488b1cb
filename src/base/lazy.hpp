// SPDX-License-Identifier: BSD-3-Clause
// A value that is made when it is first asked for.
//
// A static variable in a function does the same under a lock.  If one thread holds that lock while
// another forks, the child waits for it for ever.  This class has no lock: threads that ask at the
// same time may each make the value, and all get the first that is ready.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace stretto {

// For variables at namespace scope.  The value lives as long as the process: threads may outlive
// main().
template<class T>
class Lazy {
public:
    // `make` gives a T.  If several threads call it, the value that is ready first stays, and all
    // of them get that one.  If it throws, the exception is passed on, and no value stays.
    template<class Make>
    const T &get(Make &&make) {
        if (const T *const ready = value_.load(std::memory_order_acquire))
            return *ready;
        auto made = std::make_unique<const T>(std::forward<Make>(make)());
        const T *first = nullptr;
        if (!value_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel))
            return *first;
        return *made.release();
    }

private:
    std::atomic<const T *> value_{nullptr};
};

} // namespace stretto
