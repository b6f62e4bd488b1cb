// SPDX-License-Identifier: BSD-3-Clause
// Calls in words: for errors and for the trace.
#pragma once

#include <cstdint>
#include <string>

#include "calls/shares.hpp"
#include "engine/run.hpp"
#include "trace/recorder.hpp"

namespace stretto::calls {

// A rank's call as errors name it: "allreduce(8 x float32, sum)".  `shares` are this rank's.  Any
// thread may call this.
std::string describe(const engine::CallDescriptor &descriptor, const Shares &shares, int rank);

// The call as the trace names it.
trace::CallWords trace_words(std::uint64_t what);

} // namespace stretto::calls
