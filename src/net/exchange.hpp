// SPDX-License-Identifier: BSD-3-Clause
// A handshake over a socket.
#pragma once

#include "base/descriptor.hpp"
#include "net/address.hpp"
#include "net/handshake.hpp"

namespace stretto::net {

// What both sides get out of it.
struct Opened {
    Descriptor socket;
    Agreement agreement;
    Address peer;
};

enum class Progress { waiting, over, closed };
// Sends and receives what the socket lets it; does not block.  closed: the other side has gone
// before the handshake was over.
Progress exchange(int socket, Handshake &handshake);

} // namespace stretto::net
