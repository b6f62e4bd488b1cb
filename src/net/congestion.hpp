// SPDX-License-Identifier: BSD-3-Clause
// TCP's congestion control of a job's connections: the machine's, or what STRETTO_CONGESTION names.
// Each side decides for what it sends, so ranks need not agree.
#pragma once

namespace stretto::net {

// Throws Error(argument) if STRETTO_CONGESTION names an algorithm that this machine does not allow.
void check_congestion();

// Sets it for the socket.  A socket that is not TCP, as in tests, is left unchanged.
void choose_congestion(int socket);

} // namespace stretto::net
