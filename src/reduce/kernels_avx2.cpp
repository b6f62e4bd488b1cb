// SPDX-License-Identifier: BSD-3-Clause
#define STRETTO_VECTOR_BYTES 32
#define STRETTO_TABLE avx2_table
#include "reduce/pass.inl"
