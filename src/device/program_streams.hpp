// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program, on which its own work for a device runs.
#pragma once

namespace stretto::device {

// Returns when a stream has done all that it has been given so far.  `memory`: anything on the
// stream's device, which says in which context the default streams are meant.  `stream`: a
// CUstream; null or 1: the default stream of all threads, 2: that of the calling thread.  Throws
// Error.
void wait_for_stream(const void *memory, void *stream);

} // namespace stretto::device
