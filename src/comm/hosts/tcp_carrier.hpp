// SPDX-License-Identifier: BSD-3-Clause
// The carrier of a communicator on several hosts.
#pragma once

#include <memory>
#include <vector>

#include "comm/hosts/mesh.hpp"
#include "transport/carrier.hpp"

namespace stretto::comm {

// Over these connections, by channel, with the delay that STRETTO_DELAY asks for.
std::unique_ptr<transport::Carrier> tcp_carrier(transport::Segment &segment, int rank,
                                                std::vector<Connections> connections);

} // namespace stretto::comm
