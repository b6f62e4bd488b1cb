// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/plan_prefetch.hpp"

#include <exception>
#include <utility>

namespace stretto::arrival {

void PlanPrefetch::expect(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    key_ = key;
    state_ = State::expected;
    prepared_ = {};
}

void PlanPrefetch::prepare(std::uint64_t key, const std::function<Prepared()> &make) {
    {
        const std::lock_guard lock(mutex_);
        if (key != key_ || state_ != State::expected)
            return;
        state_ = State::begun;
    }
    Prepared made;
    try {
        made = make();
    } catch (const std::exception &) {
    }
    {
        const std::lock_guard lock(mutex_);
        if (key != key_) // nobody came to that one
            return;
        prepared_ = std::move(made);
        state_ = State::done;
    }
    done_.notify_all();
}

PlanPrefetch::Prepared PlanPrefetch::come(std::uint64_t key) {
    std::unique_lock lock(mutex_);
    if (key != key_)
        return {};
    done_.wait(lock, [this] { return state_ != State::begun; });
    state_ = State::over;
    return std::exchange(prepared_, {});
}

} // namespace stretto::arrival
