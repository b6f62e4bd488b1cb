// SPDX-License-Identifier: BSD-3-Clause
// Finds whether a call ends only after all ranks have entered it.
#pragma once

#include "engine/lower.hpp"
#include "engine/order.hpp"

namespace stretto::engine {

// Whether every position must have entered the call before any can finish it.  If so, no rank needs
// cells from before the call any more.
bool synchronizes(const Lowered &lowered, const Order &order);

} // namespace stretto::engine
