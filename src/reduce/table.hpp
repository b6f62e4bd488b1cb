// SPDX-License-Identifier: BSD-3-Clause
// What one instruction set has to offer.
#pragma once

#include "reduce/kernels.hpp"

namespace stretto::reduce {

struct Table {
    Pass copy;
    Pass reduce[kDtypes][kReduceOps];
};

extern const Table baseline_table;
#if defined(__x86_64__)
extern const Table avx2_table;
extern const Table avx512_table;
#endif

} // namespace stretto::reduce
