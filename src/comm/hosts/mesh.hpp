// SPDX-License-Identifier: BSD-3-Clause
// Connections between each two ranks on different hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/environment.hpp"
#include "comm/hosts/lobby.hpp"
#include "net/connection.hpp"
#include "transport/placement.hpp"

namespace stretto::comm {

// By rank; null for those that share this rank's memory.
using Connections = std::vector<std::unique_ptr<net::Connection>>;

// Of two ranks the higher one calls.  `epoch`: the key of the communicator; `watch`, called again
// and again, throws if somebody will not come.  Throws Error(timeout) that names who has not, after
// STRETTO_INIT_TIMEOUT.
Connections connect_all(const Identity &me, const Reach &reach, std::uint64_t epoch,
                        const transport::Placement &placement, const std::function<void()> &watch);

} // namespace stretto::comm
