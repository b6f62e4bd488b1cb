// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/delay.hpp"

#include <sys/timerfd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/status.hpp"

namespace stretto::transport {

Delay::Delay(EventSet &events, std::unique_ptr<Links> links, std::uint64_t delay_ns)
    : links_(std::move(links)), delay_ns_(delay_ns),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!timer_.open())
        throw_errno("cannot make a timer for delayed links");
    events.watch(events.add(*this), timer_.get());
}

void Delay::send(int to, const WireMessage &packet, const std::byte *payload, bool more) {
    waiting_.push_back({now_ns() + delay_ns_, to, packet, payload, more});
    if (waiting_.size() == 1)
        set_timer();
}

// Packets that are still delayed go the same way when they are due.
void Delay::push(Which which) {
    if (which == Which::all)
        for (Waiting &each : waiting_)
            each.more = false;
    links_->push(which);
}

bool Delay::progress(Receiver &receiver, const EventSet::Ready &ready) {
    bool due = false;
    for (; !waiting_.empty() && waiting_.front().due <= now_ns(); waiting_.pop_front()) {
        const Waiting &first = waiting_.front();
        links_->send(first.to, first.packet, first.payload, first.more);
        due = true;
    }
    if (due) {
        links_->push(Which::ready);
        set_timer();
    }
    return links_->progress(receiver, ready);
}

void Delay::set_timer() {
    itimerspec when{}; // all zero: never
    if (!waiting_.empty()) {
        when.it_value.tv_sec = static_cast<time_t>(waiting_.front().due / 1'000'000'000);
        when.it_value.tv_nsec = static_cast<long>(waiting_.front().due % 1'000'000'000);
    }
    if (timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) != 0)
        throw_errno("cannot set the timer of delayed links");
}

} // namespace stretto::transport
