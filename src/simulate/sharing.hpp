// SPDX-License-Identifier: BSD-3-Clause
// Which positions share links.
//
//   positions  0 1 2 3  4 5 6 7     host_of 0 0 1 1 2 2 3 3, 2 positions each
//   hosts      a   b    c   d       rack_of 0 0 1 1, 2 hosts each
//   racks      first    second      uplinks 1: oversubscribed by 2
//
// A message occupies all ports on its way for as long as it takes, and waits where one of them has
// no room:
//
//   inside a host      the out-port of its sender and the in-port of its receiver
//   between hosts      also the out-port of the one host and the in-port of the other
//   between racks      also one of the uplinks of the one rack, and one of those down to the other
//
// Ports of positions and hosts have room for one message, a rack's way up for `uplinks`, and its
// way down for as many.  A message takes as long as if it were alone: messages that share a link
// take turns.  So n equal messages through one port are all delivered at the time at which fair
// sharing would deliver them, and the first ones earlier.
#pragma once

#include <cstdint>
#include <vector>

namespace stretto::simulate {

struct Sharing {
    std::vector<std::uint32_t> host_of; // by position, from 0 on; empty: each has a host to itself
    std::vector<std::uint32_t> rack_of; // by host, from 0 on; empty: one switch joins all hosts
    std::uint32_t uplinks = 1;          // of a rack, each as fast as the port of a host

    bool any() const { return !host_of.empty() || !rack_of.empty(); }
};

} // namespace stretto::simulate
