// SPDX-License-Identifier: BSD-3-Clause
#include "net/exchange.hpp"

#include <cerrno>
#include <sys/socket.h>

#include "base/interrupted.hpp"

namespace stretto::net {

Progress exchange(int socket, Handshake &handshake) {
    while (!handshake.over()) {
        const auto out = handshake.outgoing();
        const auto in = handshake.wanted();
        const ssize_t moved = uninterrupted([&] {
            return !out.empty()
                       ? ::send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT)
                       : recv(socket, in.data(), in.size(), MSG_DONTWAIT);
        });
        if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return Progress::waiting;
        if (moved <= 0)
            return Progress::closed;
        if (!out.empty())
            handshake.sent(static_cast<std::size_t>(moved));
        else
            handshake.arrived(static_cast<std::size_t>(moved));
    }
    return Progress::over;
}

} // namespace stretto::net
