// SPDX-License-Identifier: BSD-3-Clause
// TCP's congestion control of a job's connections: the machine's, or what STRETTO_CONGESTION names.
// Each side decides for what it sends, so ranks need not agree.
#pragma once

#include <string>

namespace stretto::net {

// `name` is the value of STRETTO_CONGESTION; "": the machine's.

// Throws Error(argument) if this machine does not allow it.
void check_congestion(const std::string &name);

// Sets it for the socket.  A socket that is not TCP, as in tests, is left unchanged.
void choose_congestion(int socket, const std::string &name);

} // namespace stretto::net
