// SPDX-License-Identifier: BSD-3-Clause
// The carrier of a communicator on several hosts.
#pragma once

#include <memory>

#include "base/config.hpp"
#include "transport/remote/factory.hpp"
#include "transport/remote/linked_peers.hpp"

namespace stretto::bootstrap {

// Over these links, whose making is complete, with the delay that the config asks for.
std::unique_ptr<transport::LinkedPeers> remote_carrier(const Config &config,
                                                       transport::Segment &segment, int rank,
                                                       transport::Connecting &made);

} // namespace stretto::bootstrap
