// SPDX-License-Identifier: BSD-3-Clause
// A trace as a file in the Trace Event Format, which Perfetto and chrome://tracing open
// (docs/trace.md says what is in it).
#pragma once

#include <string>

#include "trace/log.hpp"

namespace stretto::trace {

// Throws Error(system) if the file cannot be written.
void write_events(const Log &log, const std::string &path);

} // namespace stretto::trace
