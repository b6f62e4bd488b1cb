// SPDX-License-Identifier: BSD-3-Clause
// The only output of the library itself: warnings that have no other channel, and lines that a
// setting asks for.
#pragma once

#include <string_view>

namespace stretto {

// One line on standard error, unless warnings are off.
void warn(std::string_view sentence) noexcept;
// STRETTO_WARN of the job that this process has joined last; on before.
void set_warnings(bool on) noexcept;

// One line on standard error.  The caller checks whether STRETTO_LOG asks for it.
void log(std::string_view sentence) noexcept;

} // namespace stretto
