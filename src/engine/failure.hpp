// SPDX-License-Identifier: BSD-3-Clause
// How what goes wrong on one rank becomes the failure of all.
#pragma once

#include "base/status.hpp"
#include "transport/segment.hpp"

namespace stretto::engine {

// Made in good times: with no memory left there is none for an error either.
Error no_memory(int rank);

// To be called where an exception is handled.  The others wait for this rank, which cannot go on:
// so its exception is posted as the failure of the communicator, unless that has failed already.
// Gives the failure; `exhausted` is no_memory(), for when there is none.
Error post_exception(transport::Segment &segment, int rank, const Error &exhausted);

// The failure that was posted, or `exhausted` if there is no memory for it.
Error posted(const transport::Segment &segment, const Error &exhausted);

} // namespace stretto::engine
