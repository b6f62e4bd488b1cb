// SPDX-License-Identifier: BSD-3-Clause
// Calls in words: for errors and for the trace.
#pragma once

#include <cstdint>
#include <string>

#include "calls/shares.hpp"
#include "engine/run.hpp"
#include "trace/recorder.hpp"

namespace stretto::calls {

// What a rank says of its call, as errors of this rank name it: "allreduce(8 x float32, sum)".
// `shares` are this rank's.  Any thread.
std::string describe(const engine::CallDescriptor &descriptor, const Shares &shares, int rank);

// The same for the trace.
trace::CallWords trace_words(std::uint64_t what);

} // namespace stretto::calls
