// SPDX-License-Identifier: BSD-3-Clause
// The only thing that the library ever prints by itself: what has no other way to be noticed.
#pragma once

#include <string_view>

namespace stretto {

// One line on standard error, unless STRETTO_WARN=0.
void warn(std::string_view sentence) noexcept;

} // namespace stretto
