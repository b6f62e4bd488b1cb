// SPDX-License-Identifier: BSD-3-Clause
// Sockets that are connected to each other.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "doctest.h"
#include "net/sockets.hpp"

namespace test {

inline constexpr std::uint64_t kAges = 60'000'000'000; // ns; no test waits for that

struct Sockets {
    stretto::Descriptor one, two;
};

inline Sockets local_pair() {
    int both[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
    return {stretto::Descriptor(both[0]), stretto::Descriptor(both[1])};
}

// Whether this host has addresses of the family to play with.
inline bool has_loopback(int family) {
    try {
        stretto::net::listen_at(
            *stretto::net::Address::numeric(family == AF_INET6 ? "::1" : "127.0.0.1", 0));
        return true;
    } catch (const stretto::Error &) {
        return false;
    }
}

inline Sockets over_tcp(const char *host) {
    using namespace stretto;
    const Descriptor listener = net::listen_at(*net::Address::numeric(host, 0));
    Descriptor one = net::connect_until(now_ns() + kAges, net::local_address(listener.get()));
    pollfd entry{listener.get(), POLLIN, 0};
    REQUIRE(poll(&entry, 1, -1) == 1);
    Descriptor two(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    REQUIRE(two.open());
    return {std::move(one), std::move(two)};
}

inline Sockets tcp_pair() {
    return over_tcp("127.0.0.1");
}
// Closed ones on a host without IPv6.
inline Sockets tcp6_pair() {
    return has_loopback(AF_INET6) ? over_tcp("::1")
                                  : Sockets{stretto::Descriptor(), stretto::Descriptor()};
}

} // namespace test
