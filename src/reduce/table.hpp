// SPDX-License-Identifier: BSD-3-Clause
// The passes and maps of one instruction set.
#pragma once

#include "reduce/kernels.hpp"

namespace stretto::reduce {

inline constexpr int kFolds = static_cast<int>(ReduceOp::lxor) + 1; // operations with a kernel
inline constexpr int kMappings = 3;

struct Table {
    Pass copy = nullptr;
    Pass reduce[2][kDtypes][kFolds] = {}; // by Rounding
    Map map[kMappings][kDtypes] = {};
};

extern const Table baseline_table;
#if defined(STRETTO_WIDE_KERNELS)
extern const Table avx2_table;
extern const Table avx512_table;
#endif

} // namespace stretto::reduce
