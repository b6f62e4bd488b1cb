// SPDX-License-Identifier: BSD-3-Clause
#define STRETTO_VECTOR_BYTES 16
#define STRETTO_TABLE baseline_table
#include "reduce/pass.inl"
