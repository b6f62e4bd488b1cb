// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program, on which its own work for a device runs.
#pragma once

#include "device/cuda.hpp"

namespace stretto::device {

// Whether it is one of CUDA's default streams, of which each context has its own.
bool is_default(const void *stream);
// The context of a stream, as below.  Throws Error(argument) if there is no such stream.
CUcontext context_of_stream(const Cuda &driver, const void *memory, CUstream stream);
// Throws Error(unsupported) if the stream is being captured into a CUDA graph, or is the legacy
// default stream while one that waits for it is.  With the stream's context current.
void require_no_capture(const Cuda &driver, CUstream stream);
// Whether the legacy default stream waits for what a stream is given: it does for itself, and for
// streams that were not made with CU_STREAM_NON_BLOCKING.  With the stream's context current.
bool default_waits_for(const Cuda &driver, CUstream stream);
// Throws the error of a call that names a stream of the program, unless it has succeeded:
// Error(argument) if there is no such stream.
void check_stream(const Cuda &driver, CUresult result, const char *call);

// Returns when a stream has done all that it has been given so far.  `memory`: anything on the
// stream's device, which says in which context the default streams are meant.  `stream`: a
// CUstream; null or 1: the default stream of all threads, 2: that of the calling thread.  Throws
// Error, also if the stream is being captured.
void wait_for_stream(const void *memory, void *stream);

// Lets the host wait, for the buffers of one call, until CUDA's legacy default stream has done all
// that the program has given to it so far.  cudaMemcpy returns when it has read host memory that is
// not pinned, and the bytes may reach the device later, in that stream; the library's own streams
// do not wait for it.
class DefaultStreams {
public:
    // `memory`: a buffer in device memory, whose context has the stream.  Does not wait if the
    // stream is captured, which it cannot be asked about, nor if it may wait for a call
    // (waiting_streams.hpp).  The caller holds no lock.  Throws Error.
    void wait_for(const void *memory);

private:
    CUcontext last_ = nullptr; // in which the host has waited
};

} // namespace stretto::device
