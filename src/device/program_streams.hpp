// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program, on which its own work for a device runs.
#pragma once

#include "device/cuda.hpp"

namespace stretto::device {

// The context of a stream, as below.  Throws Error(argument) if there is no such stream.
CUcontext context_of_stream(const Cuda &driver, const void *memory, CUstream stream);
// Throws Error(unsupported) if the stream is being captured into a CUDA graph, or is the legacy
// default stream while one that waits for it is.  With the stream's context current.
void require_no_capture(const Cuda &driver, CUstream stream);
// Throws the error of a call that names a stream of the program, unless it has succeeded:
// Error(argument) if there is no such stream.
void check_stream(const Cuda &driver, CUresult result, const char *call);

// Returns when a stream has done all that it has been given so far.  `memory`: anything on the
// stream's device, which says in which context the default streams are meant.  `stream`: a
// CUstream; null or 1: the default stream of all threads, 2: that of the calling thread.  Throws
// Error, also if the stream is being captured.
void wait_for_stream(const void *memory, void *stream);

} // namespace stretto::device
