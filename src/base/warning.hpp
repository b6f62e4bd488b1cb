// SPDX-License-Identifier: BSD-3-Clause
// All that the library ever prints by itself: what has no other way to be noticed, and what
// somebody has asked for.
#pragma once

#include <string_view>

namespace stretto {

// One line on standard error, unless STRETTO_WARN=0.
void warn(std::string_view sentence) noexcept;

// One line on standard error.  The caller checks whether STRETTO_LOG asks for it.
void log(std::string_view sentence) noexcept;

} // namespace stretto
