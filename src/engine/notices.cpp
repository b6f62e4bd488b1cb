// SPDX-License-Identifier: BSD-3-Clause
#include "engine/notices.hpp"

#include <utility>

namespace stretto::engine {

void Notices::part_ended(Notice *notice, const std::optional<Error> &error) noexcept {
    if (error && !notice->error)
        notice->error = error;
    if (--notice->parts != 0)
        return;
    std::unique_ptr<Notice> ended(notice);
    const std::lock_guard lock(mutex_);
    (last_ == nullptr ? first_ : last_->next) = std::move(ended);
    last_ = notice;
    any_.store(true, std::memory_order_release);
}

void Notices::deliver_all() noexcept {
    std::unique_ptr<Notice> next;
    {
        const std::lock_guard lock(mutex_);
        next = std::exchange(first_, nullptr);
        last_ = nullptr;
        any_.store(false, std::memory_order_relaxed);
    }
    while (next != nullptr) {
        next->function(next->error ? next->error->status() : Status::ok,
                       next->error ? next->error->what() : "");
        next = std::move(next->next);
    }
}

} // namespace stretto::engine
