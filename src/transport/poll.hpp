// SPDX-License-Identifier: BSD-3-Clause
// What a rank waits for beside shared memory: descriptors, all in one place, so that waiting takes
// one system call.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <sys/epoll.h>

#include "base/descriptor.hpp"

namespace stretto::transport {

class Poll {
public:
    // Descriptors are known by tags; those from kFirstOwn on are no links.
    static constexpr std::uint64_t kFirstOwn = 1ull << 32;
    static constexpr std::uint64_t kBell = kFirstOwn, kTimer = kFirstOwn + 1;

    struct Ready {
        std::span<const epoll_event> events() const {
            return std::span(storage).first(static_cast<std::size_t>(count));
        }
        std::array<epoll_event, 32> storage;
        int count = 0;
    };

    Poll();
    void add(int fd, std::uint64_t tag);
    void remove(int fd);
    // Whether to wait for room to write as well.
    void set_writing(int fd, std::uint64_t tag, bool writing);

    // What is ready within so many milliseconds.  By any number of threads.
    void wait(Ready &ready, int milliseconds) const;

private:
    Descriptor poll_;
};

} // namespace stretto::transport
