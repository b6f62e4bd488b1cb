// SPDX-License-Identifier: BSD-3-Clause
#include "transport/poll.hpp"

#include <algorithm>

#include "base/status.hpp"

namespace stretto::transport {

Poll::Poll() : poll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!poll_.open())
        throw_errno("cannot wait for what comes from other hosts (epoll_create1)");
}

void Poll::add(int fd, std::uint64_t tag) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        throw_errno("cannot wait for what comes from other hosts (epoll_ctl)");
}

void Poll::remove(int fd) {
    (void)epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poll::set_writing(int fd, std::uint64_t tag, bool writing) {
    epoll_event event{};
    event.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = tag;
    (void)epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poll::wait(Ready &ready, int milliseconds) const {
    const int count = epoll_wait(poll_.get(), ready.storage.data(),
                                 static_cast<int>(ready.storage.size()), milliseconds);
    ready.count = std::max(0, count); // interrupted: nothing
}

} // namespace stretto::transport
