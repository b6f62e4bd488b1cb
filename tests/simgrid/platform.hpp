// SPDX-License-Identifier: BSD-3-Clause
// SimGrid's network and processors with the numbers of the model, and nothing else in them.
#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "simulate/simulate.hpp"

namespace stretto::test {

// Without what SimGrid knows of TCP: bandwidths and latencies are taken as they are.
void configure();

// A host for each position, with a full-duplex link to one switch.  A message alone takes
// alpha - sooner + beta * m; several through one link share it fairly.  A processor reduces a byte
// in gamma.  For a process with an engine.
std::vector<simgrid::s4u::Host *> make_hosts(schedule::Position ranks,
                                             const simulate::Network &network, double sooner);

} // namespace stretto::test
