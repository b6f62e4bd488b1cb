// SPDX-License-Identifier: BSD-3-Clause
// Connections between each two ranks on different hosts.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/descriptor.hpp"
#include "comm/environment.hpp"
#include "comm/hosts/table.hpp"
#include "net/connection.hpp"
#include "net/crypto.hpp"
#include "transport/placement.hpp"

namespace stretto::comm {

// By rank; null for those that share this rank's memory.  Of two ranks the higher one calls.
// `socket` is where this rank listens; `watch`, called again and again, throws if somebody will not
// come.  Throws Error(timeout) that names who has not, after STRETTO_INIT_TIMEOUT.
std::vector<std::unique_ptr<net::Connection>> connect_all(const Identity &me, const net::Key &key,
                                                          const Table &table,
                                                          const transport::Placement &placement,
                                                          Descriptor socket,
                                                          const std::function<void()> &watch);

} // namespace stretto::comm
