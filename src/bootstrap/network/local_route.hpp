// SPDX-License-Identifier: BSD-3-Clause
// Where this rank is, for errors of joining: which of its interfaces is the wrong one is the first
// question that they raise.
#pragma once

#include <string>

#include "net/address.hpp"
#include "net/interfaces.hpp"

namespace stretto::bootstrap {

// " (from 10.0.0.7 on eth0 of node7)": how this host reaches `peer`, as far as can be found out.
std::string from_here(const net::Address &peer, const net::InterfaceFilter &filter);

} // namespace stretto::bootstrap
