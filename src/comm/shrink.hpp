// SPDX-License-Identifier: BSD-3-Clause
// Going on after a failure with the ranks that are left.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/child.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

// The ranks of a job's communicator that has failed agree on who of them is left, and `join` makes
// the communicator of these; if one more is lost meanwhile, they agree again, and it is called
// again.  Gives the number of calls that all of them have completed in the old one.
//
// Throws Error(argument) if the communicator has not failed, Error(unsupported) if it was made of
// another, Error(excluded) if others go on without this rank, or may; and what `join` throws, if
// that keeps happening though nobody is lost.
std::uint64_t shrink(Communicator &old, const std::function<void(const Child &)> &join);

} // namespace stretto::comm
