// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/local/packets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "base/interrupted.hpp"
#include "bootstrap/local/wire.hpp"
#include "net/crypto.hpp"

namespace stretto::bootstrap {

Descriptor open_socket() {
    Descriptor result(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!result.open())
        throw_errno("cannot open a Unix socket, by which the ranks of a host find one another; let "
                    "the container or sandbox allow them");
    return result;
}

socklen_t address(const std::string &job, sockaddr_un &result) {
    constexpr std::size_t kHashBytes = 16;
    const std::string user = std::to_string(geteuid());
    const net::Bytes32 hash = net::KeyedHash("stretto local socket")
                                  .add(std::string_view(user))
                                  .add(std::string_view(job))
                                  .finish();
    std::string name = "stretto-" + user + "-";
    for (const std::byte each : std::span(hash).first<kHashBytes>())
        for (const int digit : {std::to_integer<int>(each) >> 4, std::to_integer<int>(each) & 15})
            name += "0123456789abcdef"[digit];
    result = {};
    result.sun_family = AF_UNIX;
    // The leading zero byte keeps it out of the file system.
    std::memcpy(result.sun_path + 1, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// The kernel keeps with a connection which users have called listen() and connect().
std::optional<uid_t> stranger(int fd) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
        return static_cast<uid_t>(-1);
    return credentials.uid == geteuid() ? std::nullopt : std::optional(credentials.uid);
}

void check_listener(int fd, const std::string &job) {
    if (const auto owner = stranger(fd))
        throw Error(
            Status::system,
            "a process of another user (" + std::to_string(*owner) +
                ") has the socket at which the ranks of " + job + " of user " +
                std::to_string(geteuid()) +
                " meet on this host; nothing was said to it. Start the job again by a launcher, "
                "or by another name (STRETTO_JOB), and ask who that user is");
}

bool readable(int fd, int milliseconds) {
    pollfd entry{fd, POLLIN, 0};
    return poll_for({&entry, 1}, milliseconds) > 0;
}

void send_answer(int fd, Status status, std::string_view message,
                 std::span<const int> descriptors) noexcept {
    auto answer = write(status, message);
    iovec data{answer.data(), answer.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
    msghdr packet{};
    packet.msg_iov = &data;
    packet.msg_iovlen = 1;
    if (const std::size_t bytes = std::min(descriptors.size(), kMostDescriptors) * sizeof(int)) {
        packet.msg_control = control;
        packet.msg_controllen = static_cast<decltype(packet.msg_controllen)>(CMSG_SPACE(bytes));
        cmsghdr *rights = CMSG_FIRSTHDR(&packet);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = static_cast<decltype(rights->cmsg_len)>(CMSG_LEN(bytes));
        std::memcpy(CMSG_DATA(rights), descriptors.data(), bytes);
    }
    (void)uninterrupted([&] { return sendmsg(fd, &packet, MSG_NOSIGNAL); });
}

Taken accept_call(int listener) noexcept {
    Taken taken;
    taken.caller = Descriptor(uninterrupted(
        [&] { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
    if (!taken.caller.open()) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ECONNABORTED)
            taken.error = errno;
        return taken;
    }
    if (stranger(taken.caller.get()))
        taken.caller = Descriptor();
    return taken;
}

Packet receive(int fd, std::span<std::byte> buffer) noexcept {
    iovec data{buffer.data(), buffer.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    Packet packet;
    const auto next = [&] {
        return uninterrupted([&] { return recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_TRUNC); });
    };
    ssize_t size = next();
    // If the other side closes with a packet of ours unread, it resets the connection, and recvmsg
    // says so once, first: the packets that it has sent before are still there.
    if (size < 0 && errno == ECONNRESET)
        size = next();
    packet.size = size > 0 ? static_cast<std::size_t>(size) : 0;
    const auto next_part = [&](cmsghdr *part) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare" // in musl's macro
        return CMSG_NXTHDR(&header, part);
#pragma GCC diagnostic pop
    };
    // Owned from the moment they are here, whatever the packet says.
    for (cmsghdr *part = size > 0 ? CMSG_FIRSTHDR(&header) : nullptr; part != nullptr;
         part = next_part(part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + at, sizeof(number));
            Descriptor descriptor(number);
            if (packet.descriptor_count < kMostDescriptors)
                packet.descriptors[packet.descriptor_count++] = std::move(descriptor);
        }
    }
    return packet;
}

} // namespace stretto::bootstrap
