// SPDX-License-Identifier: BSD-3-Clause
#include "transport/wait/events.hpp"

#include <algorithm>
#include <ctime>
#include <poll.h>

#include "base/status.hpp"

namespace stretto::transport {

namespace {

epoll_event event_of(std::uint64_t data, bool writing) {
    epoll_event event{};
    event.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = data;
    return event;
}

} // namespace

EventSet::EventSet() : poll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!poll_.open())
        throw_errno("cannot wait for data from other hosts (epoll_create1)");
}

EventSet::Id EventSet::add(EventSource &source) {
    switch (source.reports()) {
    case EventSource::Reports::by_descriptors: ++by_descriptors_; break;
    case EventSource::Reports::when_armed: armed_.push_back(&source); break;
    case EventSource::Reports::in_memory: ++in_memory_; break;
    }
    return next_++;
}

void EventSet::watch(Id source, int fd, std::uint64_t tag) {
    epoll_event event = event_of((std::uint64_t{source} << kTagBits) | tag, false);
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        throw_errno("cannot wait for data from other hosts (epoll_ctl)");
}

void EventSet::unwatch(int fd) {
    (void)epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventSet::set_writing(Id source, int fd, std::uint64_t tag, bool writing) {
    epoll_event event = event_of((std::uint64_t{source} << kTagBits) | tag, writing);
    (void)epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd, &event);
}

bool EventSet::arm() const {
    // Asks all sources, so that none with events is asked again before the others.
    bool all = true;
    for (EventSource *each : armed_)
        all = each->arm() && all;
    return all;
}

void EventSet::look(Ready &ready) const {
    ready.count_ = 0;
    ready.woken_ = false;
    if (by_descriptors_ > 0)
        fill(ready);
}

void EventSet::sleep(Ready &ready, Until until, std::uint64_t most_ns,
                     std::uint64_t slept_ns) const {
    constexpr std::uint64_t kShortestNs = 20'000, kLongestNs = 1'000'000, kSecondNs = 1'000'000'000;
    const std::uint64_t nap =
        in_memory_ == 0 ? most_ns
                        : std::min(most_ns, std::clamp(slept_ns / 8, kShortestNs, kLongestNs));
    const timespec time{static_cast<time_t>(nap / kSecondNs), static_cast<long>(nap % kSecondNs)};
    const int bell = until == Until::event_or_bell ? bell_ : -1; // poll ignores -1
    pollfd set[] = {{poll_.get(), POLLIN, 0}, {bell, POLLIN, 0}};
    ready.count_ = 0;
    const bool any = ppoll(set, 2, &time, nullptr) > 0;
    ready.woken_ = any && set[1].revents != 0;
    if (any && set[0].revents != 0)
        fill(ready);
}

void EventSet::fill(Ready &ready) const {
    const int count =
        epoll_wait(poll_.get(), ready.storage_.data(), static_cast<int>(ready.storage_.size()), 0);
    ready.count_ = static_cast<std::size_t>(std::max(0, count)); // interrupted: nothing
}

} // namespace stretto::transport
