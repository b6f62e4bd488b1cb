// SPDX-License-Identifier: BSD-3-Clause
// Copies by the processor's string instruction (x86-64: rep movsb).
//
// A vector store into a line that another core has read first fetches the line, or at least the
// right to it.  The string instruction knows that it will overwrite whole lines, and asks for the
// right alone, for many lines at once.  Between two cores this is up to twice as fast; for data
// that no other core has read it is as fast as vectors.  (Intel, Optimization Reference Manual,
// "Enhanced REP MOVSB and STOSB operation"; AMD has it since Zen 3.)
#pragma once

#include "reduce/kernels.hpp"

namespace stretto::reduce {

// Whether this process may use the string instruction.  The first word counts: later ones, and one
// after the first use, change nothing.
void allow_string_copies(bool allowed);
// Whether this processor's string instruction is fast and allowed.  False under sanitizers, which
// do not see what the instruction reads and writes.
bool string_copies();

// The copy pass by the string instruction, unless an output is to be streamed.  Only if
// string_copies().
void copy_by_strings(void *const *out, int outs, const void *const *in, int ins, std::size_t bytes,
                     std::uint32_t streaming);

// As pass(out, outs, in, ins, count, 0), for a last output whose old contents other ranks have
// read: it gets its values by the string instruction, block by block, while each block is still in
// the cache.  The pointers are advanced.  Only if string_copies().
void pass_to_string(Pass pass, std::size_t element, void **out, int outs, const void **in, int ins,
                    std::size_t count);

} // namespace stretto::reduce
