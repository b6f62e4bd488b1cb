// SPDX-License-Identifier: BSD-3-Clause
#include "net/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <netinet/tcp.h>
#include <poll.h>

#include "base/clock.hpp"
#include "base/interrupted.hpp"
#include "base/lazy.hpp"
#include "base/status.hpp"
#include "net/interfaces.hpp"

namespace stretto::net {

namespace {

Descriptor open_socket(int family) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.open())
        throw_errno("cannot open a TCP socket");
    return socket;
}

void enable(int socket, int level, int option, int value = 1) {
    (void)setsockopt(socket, level, option, &value, sizeof(value));
}

[[noreturn]] void cannot_use(const Address &at, const std::string &what) {
    const int code = errno;
    std::string remedy;
    if (code == EADDRINUSE)
        remedy = "; another process has this port: choose another one";
    else if (code == EADDRNOTAVAIL)
        remedy = "; this host has the addresses " + in_words(interfaces());
    throw Error(Status::system, what + " " + at.text() + " on " + host_name() + ": " +
                                    std::strerror(code) + remedy);
}

Address address_by(int (*ask)(int, sockaddr *, socklen_t *), int socket) {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    auto *const raw = reinterpret_cast<sockaddr *>(&storage);
    return ask(socket, raw, &size) == 0 ? Address(raw, size) : Address();
}

// Whether it listens; if not, errno says why.
bool listens(const Descriptor &socket, const Address &at) {
    // A job that starts right after another must not wait until the last packets of that one have
    // expired.
    enable(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    return bind(socket.get(), at.raw(), at.size()) == 0 && listen(socket.get(), SOMAXCONN) == 0;
}

Descriptor listen_on(Descriptor socket, const Address &at) {
    if (!listens(socket, at))
        cannot_use(at, "cannot listen at");
    return socket;
}

// A socket for all addresses of this host, and they.
std::pair<Descriptor, Address> for_all_addresses(std::uint16_t port) {
    Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.open() && errno == EAFNOSUPPORT)
        return {open_socket(AF_INET), Address::any(AF_INET, port)};
    if (!socket.open())
        throw_errno("cannot open a TCP socket");
    enable(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    return {std::move(socket), Address::any(AF_INET6, port)};
}

constinit Lazy<std::string> name_of_host;

} // namespace

Descriptor listen_at(const Address &at) {
    Descriptor socket = open_socket(at.family());
    if (at.family() == AF_INET6)
        enable(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY);
    return listen_on(std::move(socket), at);
}

Descriptor listen_everywhere(std::uint16_t port) {
    auto [socket, at] = for_all_addresses(port);
    return listen_on(std::move(socket), at);
}

Descriptor try_to_listen(std::uint16_t port) {
    auto [socket, at] = for_all_addresses(port);
    if (listens(socket, at))
        return std::move(socket);
    if (errno != EADDRINUSE)
        cannot_use(at, "cannot listen at");
    return Descriptor();
}

Address local_address(int socket) {
    return address_by(getsockname, socket);
}

Address remote_address(int socket) {
    return address_by(getpeername, socket);
}

bool connected_to_itself(int socket) {
    return remote_address(socket) == local_address(socket);
}

Connecting::Connecting(const Address &to, const Address &from) : socket_(open_socket(to.family())) {
    send_without_delay(socket_.get());
    if (from.known()) {
        // The kernel chooses the port when the peer is known, so more connections fit.
        enable(socket_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
        const Address any_port = from.with_port(0);
        if (bind(socket_.get(), any_port.raw(), any_port.size()) != 0)
            cannot_use(from, "cannot connect from");
    }
    if (connect(socket_.get(), to.raw(), to.size()) != 0 && errno != EINPROGRESS && errno != EINTR)
        error_ = errno;
}

int Connecting::outcome() const {
    int error = error_;
    socklen_t size = sizeof(error);
    if (error == 0 && getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return errno;
    if (error != 0)
        return error;
    if (!remote_address(socket_.get()).known() || connected_to_itself(socket_.get()))
        return ECONNREFUSED;
    return 0;
}

Descriptor connect_until(std::uint64_t deadline, const Address &to, const Address &from) {
    Connecting connecting(to, from);
    for (;;) {
        const std::uint64_t now = now_ns();
        const std::uint64_t left = deadline > now ? (deadline - now + 999'999) / 1'000'000 : 0;
        pollfd entry{connecting.descriptor(), POLLOUT, 0};
        if (poll_for({&entry, 1}, static_cast<int>(std::min<std::uint64_t>(left, INT_MAX))) > 0)
            break;
        if (left == 0)
            throw Error(Status::timeout,
                        host_name() + " could not connect to " + to.text() +
                            " in time; check that a rank listens there and that no firewall is in "
                            "between");
    }
    if (const int error = connecting.outcome(); error != 0)
        throw Error(Status::system, host_name() + " could not connect to " + to.text() + ": " +
                                        std::strerror(error) + "; check that a rank listens there");
    return connecting.take();
}

void send_without_delay(int socket) {
    enable(socket, IPPROTO_TCP, TCP_NODELAY); // fails for sockets that are not TCP, as in tests
}

const std::string &host_name() {
    return name_of_host.get([] {
        char text[HOST_NAME_MAX + 1] = "";
        return gethostname(text, sizeof(text) - 1) == 0 && *text != '\0' ? std::string(text)
                                                                         : std::string("this host");
    });
}

} // namespace stretto::net
