// SPDX-License-Identifier: BSD-3-Clause
#define STRETTO_VECTOR_BYTES 64
#define STRETTO_TABLE avx512_table
#include "reduce/pass.inl"
