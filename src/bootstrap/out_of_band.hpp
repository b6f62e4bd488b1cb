// SPDX-License-Identifier: BSD-3-Clause
// Joining a job whose ranks something else connects already, such as MPI: it tells them where to
// meet, under which name and with which secret, so that users need not set anything.
#pragma once

#include <cstddef>
#include <functional>

#include "base/config.hpp"
#include "bootstrap/environment.hpp"

namespace stretto::bootstrap {

// Called by all ranks alike: `all` becomes what they have at `mine`, `bytes` of each, by rank.
// Throws if it cannot.
using Allgather = std::function<void(const void *mine, void *all, std::size_t bytes)>;

// Who this rank is, in a job of its own.  Ranks that cannot be on one host meet at an address of
// rank 0's by which it reaches the first rank elsewhere (STRETTO_IFACE counts), or at STRETTO_ADDR.
// A collective: if one of them throws, all do, with the message of the first that cannot.
Identity introduce(const Config &config, int rank, int size, const Allgather &allgather);

} // namespace stretto::bootstrap
