// SPDX-License-Identifier: BSD-3-Clause
#include "net/congestion.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/descriptor.hpp"
#include "base/kernel_files.hpp"
#include "base/status.hpp"
#include "net/sockets.hpp"

namespace stretto::net {

namespace {

bool choose(int socket, const std::string &name) {
    return setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

// "reno cubic"
std::string allowed() {
    std::string names = contents("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    while (!names.empty() && names.back() == '\n')
        names.pop_back();
    return names;
}

} // namespace

void check_congestion(const std::string &name) {
    if (name.empty())
        return;
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.open())
        socket = Descriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.open())
        throw_errno("cannot open a TCP socket");
    if (!choose(socket.get(), name))
        throw Error(Status::argument, "STRETTO_CONGESTION is '" + name + "', which " + host_name() +
                                          " does not allow; it allows " + allowed() +
                                          " (sysctl net.ipv4.tcp_allowed_congestion_control)");
}

void choose_congestion(int socket, const std::string &name) {
    if (!name.empty())
        (void)choose(socket, name);
}

} // namespace stretto::net
