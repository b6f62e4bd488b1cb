// SPDX-License-Identifier: BSD-3-Clause
// Something that can be done once in a process, done in a process of its own.
#pragma once

#include <functional>
#include <vector>

namespace stretto::test {

// Throws std::runtime_error if it does not come to its end.
std::vector<double> apart(const std::function<std::vector<double>()> &what);

} // namespace stretto::test
