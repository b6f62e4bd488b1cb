// SPDX-License-Identifier: BSD-3-Clause
// What STRETTO_TUNING_FILE says.
#pragma once

namespace stretto::comm {

// That there is a file, of the network or of calls.
bool names_profile();

} // namespace stretto::comm
