// SPDX-License-Identifier: BSD-3-Clause
// Element-wise kernels: one pass over memory, n operands in, m results out.
//
// A pass over n sources costs n + 1 streams of memory where a chain of pairwise passes costs
// 3(n - 1): at 8 ranks 9 against 21.  Everything the engine does to data is one of these passes;
// a copy is the pass with one operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types.hpp"

namespace stretto::reduce {

// out[j][i] = (((in[0][i] op in[1][i]) op in[2][i]) ...) for every j < outs and i < count.
//
// ins >= 1 (1: a copy), outs >= 1.  An output may be exactly one of the inputs (in place); any
// other overlap is undefined.  No alignment is required.
//
// Bit j of `streaming` asks that out[j] be written past the caches (non-temporal stores, followed
// by a store fence before the call returns).  On x86-64 this is done for the whole cache lines of
// the first such output, and of the others that have the same address modulo 64 bytes.  The rest is
// stored plainly, and so is everything if elements straddle cache lines.
//
// Results have the same bits on every instruction set; operations.inl defines them for NaN, zeros,
// overflow and truth values.
using Pass = void (*)(void *const *out, int outs, const void *const *in, int ins, std::size_t count,
                      std::uint32_t streaming);

// A value of `streaming` that asks for the first `outs` outputs.  Outputs beyond its bits are never
// streamed.
constexpr std::uint32_t first_outputs(int outs) {
    return outs < 32 ? (std::uint32_t{1} << outs) - 1 : ~std::uint32_t{0};
}

// out[i] = f(in[i]); `out` may be `in`.
using Map = void (*)(void *out, const void *in, std::size_t count, const void *constant);
enum class Mapping : std::uint8_t {
    multiply, // by *constant, of the same type
    divide,   // by *constant, a double; complex numbers by components
    truth,    // 1 if not 0; no constant
};
// A map and its constant, for what performs it elsewhere than the CPU.
struct ElementMap {
    Mapping mapping = Mapping::divide;
    Dtype dtype = Dtype::i8;
    const void *constant = nullptr;
};

// An instruction set.  All of them give the same bits for the same operands.
enum class Isa : std::uint8_t { baseline = 0, avx2 = 1, avx512 = 2 };

// When 16-bit floating-point numbers, which are reduced as float32, are rounded to 16 bits: at the
// end of a pass, or after each pair of operands.  In the second case the bits of a result do not
// depend on how operands were grouped into passes.
enum class Rounding : std::uint8_t { once = 0, each = 1 };

std::string_view name(Isa isa);

// Whether the library holds kernels for it.
bool built(Isa isa);
// Whether this CPU has it, too.
bool available(Isa isa);
// The widest set that this CPU has, up to the one named ("": no limit); an unknown name throws
// Error(argument).
Isa widest_isa(std::string_view limit);
// Limits the sets that this process uses to those up to the one named, as widest_isa() does.  The
// first limit counts: later ones, and limits after the first use of a kernel, change nothing.
void limit_isa(std::string_view limit);
// The widest set that this CPU and the limit allow.
Isa best_isa();

// The pass that reduces by an operation.  An average and a premultiplied sum use the sum's pass,
// with maps before or after it.  Null if the type does not support the operation, for user-defined
// operations, and if the isa is not available.
Pass pass(Dtype dtype, ReduceOp op, Rounding rounding = Rounding::once, Isa isa = best_isa());
// The pass that copies bytes: count is bytes; ins must be 1.
Pass copy_pass(Isa isa = best_isa());
// Null if the type has no such map, or if the isa is not available.
Map map(Mapping mapping, Dtype dtype, Isa isa = best_isa());

} // namespace stretto::reduce
