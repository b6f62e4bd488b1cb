// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/bell_socket.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/status.hpp"

namespace stretto::transport {

// Names are of the abstract namespace, which begins with a 0.  They are written by hand, as every
// ring needs one: printf takes longer than the ring.
static socklen_t name_of(std::uint64_t key, int rank, sockaddr_un &address) {
    constexpr std::string_view kName = "stretto-bell-";
    address.sun_family = AF_UNIX;
    char *at = address.sun_path;
    char *const end = at + sizeof(address.sun_path);
    *at++ = '\0';
    at = std::copy(kName.begin(), kName.end(), at);
    at = std::to_chars(at, end, key).ptr;
    *at++ = '-';
    at = std::to_chars(at, end, rank).ptr;
    return static_cast<socklen_t>(at - reinterpret_cast<char *>(&address));
}

BellSocket::BellSocket(std::uint64_t key, int rank)
    : key_(key), socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!socket_.open())
        throw_errno("cannot make the bell of rank " + std::to_string(rank));
    sockaddr_un address;
    const socklen_t length = name_of(key_, rank, address);
    if (bind(socket_.get(), reinterpret_cast<sockaddr *>(&address), length) != 0)
        throw_errno("cannot bind the bell of rank " + std::to_string(rank));
}

void BellSocket::ring(int rank) const {
    sockaddr_un address;
    const socklen_t length = name_of(key_, rank, address);
    // If its queue is full, it has been rung already; if there is no socket, no thread sleeps
    // there.
    (void)sendto(socket_.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<sockaddr *>(&address), length);
}

// Hardly ever are there several; those that are left end the next sleep.
void BellSocket::silence() const {
    std::array<mmsghdr, 8> rings = {}; // without buffers: a ring has no content
    (void)recvmmsg(socket_.get(), rings.data(), static_cast<unsigned>(rings.size()), MSG_DONTWAIT,
                   nullptr);
}

} // namespace stretto::transport
