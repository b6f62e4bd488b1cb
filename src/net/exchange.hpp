// SPDX-License-Identifier: BSD-3-Clause
// A handshake over a socket.
#pragma once

#include "base/descriptor.hpp"
#include "net/address.hpp"
#include "net/handshake.hpp"

namespace stretto::net {

// The result for either side.
struct Opened {
    Descriptor socket;
    Agreement agreement;
    Address peer;
};

enum class Progress { waiting, over, closed };
// Sends and receives as much as the socket allows, without blocking.  closed: the other side closed
// the connection before the handshake was over.
Progress exchange(int socket, Handshake &handshake);

} // namespace stretto::net
