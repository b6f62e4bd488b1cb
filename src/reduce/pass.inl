// SPDX-License-Identifier: BSD-3-Clause
// The passes of one instruction set.  The including file defines the width of its vectors
// (STRETTO_VECTOR_BYTES) and the name of its table (STRETTO_TABLE).
//
// A pass is cut in three.  With 64-byte vectors and out[0] 40 bytes into a cache line, one over 360
// bytes of 4-byte elements is
//
//     [0, 24)     edge     to where a cache line of out[0] begins, as [0, 16) and [8, 24)
//     [24, 344)   middle   5 vectors: a block of 4, then 1; all stores to out[0] aligned
//     [344, 360)  edge     what is left
//
// For the most used types and operations there is a middle for each small number of operands, with
// its pointers in registers.  There is one edge for all; a small pass is edge only.  Each block of
// bytes is read from all operands before it is written anywhere, and never read again: so an output
// may be an operand.
#pragma once

#include <algorithm>
#include <utility>

#include "reduce/block.inl"
#include "reduce/map.inl"
#include "reduce/table.hpp"

namespace stretto::reduce {
namespace {

// How far ahead of the loads a pass prefetches.  Processors prefetch by themselves, but not beyond
// a page.  With this, cells that come from another core's cache are read up to a fifth faster.
constexpr std::size_t kAheadBytes = 4096;
constexpr std::size_t kAlignFromBytes = 1024; // bytes from which aligned stores repay the edge

struct Layout {
    std::size_t begin, end; // of the middle
    std::uint32_t streamed;
};

// Aligns the first streamed output, or else the first output.  Outputs can be streamed together
// only if they have the same offset within their cache lines; the others are written plainly, and
// so are outputs whose elements straddle cache lines.
[[gnu::noinline]] Layout align(void *const *out, int outs, std::size_t element, std::size_t size,
                               std::uint32_t streaming) {
    const auto within_line = [&](int j) {
        return reinterpret_cast<std::uintptr_t>(out[j]) % kLineBytes;
    };
    streaming &= first_outputs(outs);
    const std::size_t lead = within_line(streaming != 0 ? __builtin_ctz(streaming) : 0);
    const std::size_t begin = (kLineBytes - lead) % kLineBytes;
    if (begin % element != 0 || begin > size)
        return {0, size - size % kVectorBytes, 0};
    if (streaming == 0)
        return {begin, size - (size - begin) % kVectorBytes, 0};
    std::uint32_t streamed = 0;
    for (int j = 0; j < outs && j < 32; ++j)
        if (within_line(j) == lead)
            streamed |= streaming & (std::uint32_t{1} << j);
    return {begin, size - (size - begin) % kLineBytes, streamed};
}

// There is a middle of its own for each number of operands up to this.  Middles take most of the
// library's compile time, so only sums have them, of types that programs sum in bulk.  The loop
// over any number of operands takes 1.5 times as long for 2 operands in the first-level cache, 1.1
// times for 5, and equally long where memory, or a cell in another core's cache, is the limit.
template<class Element, class Operation>
constexpr int most_hoisted() {
#if defined(STRETTO_WIDE_KERNELS) // few processors still need the narrow ones
    if (kVectorBytes == kLeastVectorBytes)
        return 1;
#endif
    return std::is_same_v<Operation, Sum> ? Element::kHoistedOperands : 1;
}

template<class Element, class Operation>
struct Kernel {
    static constexpr std::size_t kElementBytes = Element::kBytes;
    static constexpr bool kCopies = std::is_same_v<Operation, Only>;
    // The number of operands is compiled in up to this.
    static constexpr int kMostHoistedOperands = most_hoisted<Element, Operation>();
    using Stored = Vector<typename Element::Stored, kVectorBytes>;
    static constexpr std::size_t kUnrollVectors = // four vectors in flight
        4 * kVectorBytes / sizeof(Element::enter(Stored{}));
    static constexpr std::size_t kBlockBytes = kUnrollVectors * kVectorBytes;

    // Ins, Outs: the number of operands and of results, or 0 if it is known only at run time.
    // `end` - `at` is a multiple of kVectorBytes.
    template<int Ins, int Outs>
    static void middle(void *const *out, int outs, const void *const *in, int ins, std::size_t at,
                       std::size_t end, std::uint32_t streamed) {
        const Sources<Ins> sources(in, ins);
        const Sinks<Outs> sinks(out, outs);
        const StreamMask mask(streamed);
        // Loads the first bytes of all at once: otherwise each load would wait for the one before
        // it.
        if (end - at >= 2 * kBlockBytes)
            for (std::size_t first = at; first < std::min(at + kAheadBytes, end - kBlockBytes);
                 first += kBlockBytes)
                for (int k = 0; k < sources.size(); ++k)
                    fetch<kBlockBytes>(sources[k] + first);
        for (; end - at >= kBlockBytes; at += kBlockBytes)
            block<Element, Operation, kVectorBytes, kUnrollVectors, true>(
                sources, sinks, at, kVectorBytes, mask,
                std::min(at + kAheadBytes, end - kBlockBytes));
        for (; at != end; at += kVectorBytes)
            block<Element, Operation, kVectorBytes, 1>(sources, sinks, at, 0, mask);
    }
    using Middle = decltype(&middle<0, 0>);

    template<int Outs, int... Hoisted>
    static Middle middle_for(int ins, std::integer_sequence<int, Hoisted...>) {
        constexpr Middle middles[] = {&middle<0, Outs>, &middle<0, Outs>,
                                      &middle<Hoisted + 2, Outs>...};
        return middles[ins <= kMostHoistedOperands ? ins : 0];
    }

    static Middle middle_for(int outs, int ins) {
        if constexpr (kCopies)
            return outs == 1 ? &middle<1, 1> : outs == 2 ? &middle<1, 2> : &middle<1, 0>;
        else if constexpr (kMostHoistedOperands < 2)
            return &middle<0, 0>;
        else {
            constexpr std::make_integer_sequence<int, kMostHoistedOperands - 1> hoisted{};
            return outs == 1   ? middle_for<1>(ins, hoisted)
                   : outs == 2 ? middle_for<2>(ins, hoisted)
                               : &middle<0, 0>;
        }
    }

    // Any bytes: whole vectors, then narrower ones.
    [[gnu::noinline]] static void edge(void *const *out, int outs, const void *const *in, int ins,
                                       std::size_t at, std::size_t end) {
        const Sources<0> sources(in, ins);
        const Sinks<0> sinks(out, outs);
        for (; end - at >= kVectorBytes; at += kVectorBytes)
            block<Element, Operation, kVectorBytes, 1>(sources, sinks, at, 0, StreamMask());
        rest<kVectorBytes / 2>(sources, sinks, at, end - at);
    }

    // Fewer than 2 * Bytes bytes, as two vectors that overlap: 13 elements of 4 bytes are [0, 32)
    // and [20, 52).
    template<std::size_t Bytes>
    [[gnu::always_inline]] static void rest(const Sources<0> &in, const Sinks<0> &out,
                                            std::size_t at, std::size_t size) {
        if constexpr (Bytes >= kElementBytes) {
            constexpr std::size_t vectors = Bytes > kElementBytes ? 2 : 1;
            if (size >= Bytes)
                block<Element, Operation, Bytes, vectors>(in, out, at, size - Bytes, StreamMask());
            else
                rest<Bytes / 2>(in, out, at, size);
        }
    }

    [[gnu::noinline]] static void cut(void *const *out, int outs, const void *const *in, int ins,
                                      std::size_t size, std::uint32_t streaming) {
        Layout layout{0, size - size % kVectorBytes, 0};
        if (streaming != 0 || size >= kAlignFromBytes)
            layout = align(out, outs, kElementBytes, size, streaming);
        if (layout.begin != 0)
            edge(out, outs, in, ins, 0, layout.begin);
        middle_for(outs, ins)(out, outs, in, ins, layout.begin, layout.end, layout.streamed);
        if (layout.end != size)
            edge(out, outs, in, ins, layout.end, size);
        if (layout.streamed != 0)
            stream_fence();
    }

    // `Bytes`: the size of what the caller counts.
    template<std::size_t Bytes>
    static void pass(void *const *out, int outs, const void *const *in, int ins, std::size_t count,
                     std::uint32_t streaming) {
        const std::size_t size = count * Bytes;
        if (!kCopies && ins == 1)
            return Kernel<Plain<std::uint8_t>, Only>::template pass<1>(out, outs, in, 1, size,
                                                                       streaming);
        if (size < kBlockBytes && streaming == 0)
            return edge(out, outs, in, ins, 0, size);
        cut(out, outs, in, ins, size, streaming);
    }
};

// Sums and products that wrap are the same for signed and unsigned types, and bitwise operations
// for all sizes.
template<Dtype D, ReduceOp O, Rounding R>
constexpr Pass pass_for() {
    using Element = ElementOf<D>;
    using Stored = typename Element::Stored;
    using Operation = OperationOf<O>;
    constexpr std::size_t bytes = size_of(D);
    static_assert(bytes == Element::kBytes);
    constexpr bool adds = O == ReduceOp::sum || O == ReduceOp::prod;
    if constexpr (!supports(D, O))
        return nullptr;
    else if constexpr (gives_truth(D, O))
        return &Kernel<Truth<bytes>, OperationOf<O, OnTruth>>::template pass<bytes>;
    else if constexpr (O == ReduceOp::band || O == ReduceOp::bor || O == ReduceOp::bxor)
        return &Kernel<Plain<std::uint8_t>, Operation>::template pass<bytes>;
    else if constexpr (family(D) == Family::integer && adds)
        return &Kernel<Plain<Unsigned<bytes>>, Operation>::template pass<bytes>;
    else if constexpr (family(D) == Family::complex && O == ReduceOp::sum)
        return &Kernel<Plain<Stored>, Operation>::template pass<bytes>;
    else if constexpr (family(D) == Family::complex)
        return &Kernel<Element, ComplexProduct>::template pass<bytes>;
    else if constexpr (family(D) == Family::floating && bytes == 2 && adds && R == Rounding::each)
        return &Kernel<EachRounded<Element>, Operation>::template pass<bytes>;
    else
        return &Kernel<Element, Operation>::template pass<bytes>;
}

template<Dtype D, std::size_t... O>
constexpr void fill(Table &table, std::index_sequence<O...>) {
    constexpr auto d = static_cast<std::size_t>(D);
    ((table.reduce[0][d][O] = pass_for<D, static_cast<ReduceOp>(O), Rounding::once>()), ...);
    ((table.reduce[1][d][O] = pass_for<D, static_cast<ReduceOp>(O), Rounding::each>()), ...);
    table.map[static_cast<int>(Mapping::multiply)][d] = multiply_for<D>();
    table.map[static_cast<int>(Mapping::divide)][d] = divide_for<D>();
    table.map[static_cast<int>(Mapping::truth)][d] = truth_for<D>();
}

template<std::size_t... D>
constexpr Table make_table(std::index_sequence<D...>) {
    Table table;
    table.copy = &Kernel<Plain<std::uint8_t>, Only>::pass<1>;
    (fill<static_cast<Dtype>(D)>(table, std::make_index_sequence<kFolds>{}), ...);
    return table;
}

} // namespace

constinit const Table STRETTO_TABLE = make_table(std::make_index_sequence<kDtypes>{});

} // namespace stretto::reduce
