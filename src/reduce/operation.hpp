// SPDX-License-Identifier: BSD-3-Clause
// Operations that callers created.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "base/types.hpp"

namespace stretto::reduce {

inline constexpr std::size_t kLargestElementBytes = 16; // except records

struct Operation {
    ReduceOp kind = ReduceOp::user; // premul_sum, user or user_in_order
    // User-defined: inout[i] = in[i] op inout[i].  Both are aligned to the size of an element, or
    // for a record to the largest power of two that divides its size, up to 16.
    std::function<void(const void *in, void *inout, std::size_t count, Dtype dtype)> function;
    // Premultiplied sum: the type and the factor.
    Dtype dtype = Dtype::i8;
    alignas(kLargestElementBytes) std::array<std::byte, kLargestElementBytes> factor{};
};

// The pass (kernels.hpp) of a user-defined operation.  Throws what its function throws.
void fold(const Operation &operation, Dtype dtype, void *const *out, int outs,
          const void *const *in, int ins, std::size_t count);

} // namespace stretto::reduce
