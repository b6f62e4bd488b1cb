// SPDX-License-Identifier: BSD-3-Clause
// Going on after a failure with the ranks that are left.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/child.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

// The ranks of the job's communicator, which has failed, agree on which of them are left, and
// `join` makes a communicator of these.  If another rank is lost before it is made, they agree
// again and call `join` again.  Gives the number of calls that all of them have completed in the
// old one.
//
// Throws Error(argument) if the communicator has not failed, Error(unsupported) if it was made of
// another one, Error(excluded) if the others go on, or may go on, without this rank.  Throws the
// error of `join` if it keeps failing though no rank is lost.
std::uint64_t shrink(Communicator &old, const std::function<void(const Child &)> &join);

} // namespace stretto::comm
