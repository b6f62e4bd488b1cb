// SPDX-License-Identifier: BSD-3-Clause
// TCP's congestion control of a job's connections: the machine's, or what STRETTO_CONGESTION names.
// Each side decides for what it sends, so ranks need not agree.
#pragma once

namespace stretto::net {

// Throws Error(argument) if STRETTO_CONGESTION names none that this machine allows.
void check_congestion();

// Gives it to the socket; one that is no TCP socket, as those of tests, stays as it is.
void choose_congestion(int socket);

} // namespace stretto::net
