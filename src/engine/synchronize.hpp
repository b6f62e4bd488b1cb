// SPDX-License-Identifier: BSD-3-Clause
// Does a call end only when all have entered it?
#pragma once

#include "engine/lower.hpp"
#include "engine/order.hpp"

namespace stretto::engine {

// Whether every position must have entered the call before any can be through with it: then nobody
// needs what was published before the call any more.
bool synchronizes(const Lowered &lowered, const Order &order);

} // namespace stretto::engine
