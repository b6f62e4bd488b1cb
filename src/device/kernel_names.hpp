// SPDX-License-Identifier: BSD-3-Clause
// Which kernel of the module performs what, and how it is given its buffers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/types.hpp"
#include "device/kernels/arguments.hpp"
#include "reduce/kernels.hpp"

namespace stretto::device {

// The name of the kernel that does what reduce::pass() does, for two operands and more, and of the
// one that does what reduce::map() does.  Empty where those are null.
std::string pass_kernel(Dtype dtype, ReduceOp op, reduce::Rounding rounding);
std::string map_kernel(reduce::Mapping mapping, Dtype dtype);

// How a kernel cuts buffers at these addresses, of so many bytes in whole elements.
ChunkLayout chunk_layout(std::span<void *const> buffers, std::size_t bytes, std::size_t element);

// Blocks of a grid for so many bytes.
unsigned blocks_for(std::size_t bytes);

} // namespace stretto::device
