// SPDX-License-Identifier: BSD-3-Clause
// The carrier of a communicator on several hosts.
#pragma once

#include <memory>

#include "comm/hosts/mesh.hpp"
#include "transport/carrier.hpp"

namespace stretto::comm {

// Over these connections, with the delay that STRETTO_DELAY asks for.
std::unique_ptr<transport::Carrier> tcp_carrier(transport::Segment &segment, int rank,
                                                Connections connections);

} // namespace stretto::comm
