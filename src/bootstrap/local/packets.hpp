// SPDX-License-Identifier: BSD-3-Clause
// The Unix socket on which the ranks of a job find one another: addresses and packets, some of
// which carry descriptors.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/descriptor.hpp"
#include "base/status.hpp"

namespace stretto::bootstrap {

// Does not block: waiting is readable()'s.
Descriptor open_socket();

// A name in the abstract namespace, of which the file system knows nothing.  It shows a hash of the
// job's: all users can read it in /proc/net/unix.
socklen_t address(const std::string &job, sockaddr_un &result);

// Any process of the machine can listen at such a name, or connect to it.  The user at the other
// end of a socket; nothing if that is the one of this process.
std::optional<uid_t> stranger(int fd);
// Throws Error(system) if another user listens where `fd` is connected to.
void check_listener(int fd, const std::string &job);

// Whether there is a packet, or the other side has closed, within so many milliseconds.
bool readable(int fd, int milliseconds);

// Sends an answer.  If the rank at the other end has died, the answer is lost; callers find the
// death when they next read from the socket.
void send_answer(int fd, Status status, std::string_view message,
                 std::span<const int> descriptors = {}) noexcept;

inline constexpr std::size_t kMostDescriptors = 2;

struct Packet {
    std::size_t size = 0; // 0: the other side has closed; larger than the buffer: cut
    std::size_t descriptor_count = 0;
    std::array<Descriptor, kMostDescriptors> descriptors;
};
// The next process that calls at a listening socket.  `caller` is not open if there is none, if
// `error` says why this process could not accept it, or if it is of another user: any process of
// the machine can reach the socket.
struct Taken {
    Descriptor caller;
    int error = 0; // errno
};
Taken accept_call(int listener) noexcept;
// Takes the next packet into `buffer`.  Needs no memory: a packet that is not taken is lost to its
// sender.
Packet receive(int fd, std::span<std::byte> buffer) noexcept;

} // namespace stretto::bootstrap
