// SPDX-License-Identifier: BSD-3-Clause
// The passes of one instruction set.  The including file says how wide its vectors are
// (STRETTO_VECTOR_BYTES) and what its table is called (STRETTO_TABLE).
//
// A pass is cut in three.  With 64-byte vectors and out[0] 40 bytes into a cache line, one over 360
// bytes of 4-byte elements is
//
//     [0, 24)     edge     to where a cache line of out[0] begins, as [0, 16) and [8, 24)
//     [24, 344)   middle   5 vectors: a block of 4, then 1; all stores to out[0] aligned
//     [344, 360)  edge     what is left
//
// The middle exists for each number of operands up to 8, with its pointers in registers; the edge
// exists once for all, and is the whole of a small pass.  Each block of bytes is read from all
// operands before it is written anywhere, and never read again: so an output may be an operand.
#pragma once

#include <algorithm>
#include <utility>

#include "reduce/block.inl"
#include "reduce/table.hpp"

namespace stretto::reduce {
namespace {

constexpr std::size_t kBlock = kUnroll * kVector;
constexpr int kMostHoisted = 8; // operands; beyond, their number is not compiled in
// Bytes ahead of the loads.  Processors look ahead themselves, but not beyond a page: cells that
// come from another core's cache are read up to a fifth faster.
constexpr std::size_t kAhead = 4096;
constexpr std::size_t kAlignFrom = 1024; // bytes from which aligned stores repay the edge

struct Layout {
    std::size_t begin, end; // of the middle
    std::uint32_t streamed;
};

// Aligns the first streamed output, or else the first output.  Only outputs that lie alike within
// their cache lines can be streamed together; the others are written plainly.  So are all whose
// elements straddle cache lines.
[[gnu::noinline]] Layout align(void *const *out, int outs, std::size_t element, std::size_t size,
                               std::uint32_t streaming) {
    const auto within_line = [&](int j) {
        return reinterpret_cast<std::uintptr_t>(out[j]) % kLine;
    };
    if (outs < 32)
        streaming &= (std::uint32_t{1} << outs) - 1;
    const std::size_t lead = within_line(streaming != 0 ? __builtin_ctz(streaming) : 0);
    const std::size_t begin = (kLine - lead) % kLine;
    if (begin % element != 0 || begin > size)
        return {0, size - size % kVector, 0};
    if (streaming == 0)
        return {begin, size - (size - begin) % kVector, 0};
    std::uint32_t streamed = 0;
    for (int j = 0; j < outs && j < 32; ++j)
        if (within_line(j) == lead)
            streamed |= streaming & (std::uint32_t{1} << j);
    return {begin, size - (size - begin) % kLine, streamed};
}

template<class Element, class Operation>
struct Kernel {
    static constexpr std::size_t kElement = sizeof(typename Element::Value);
    static constexpr bool kCopies = std::is_same_v<Operation, Only>;

    // Ins, Outs: how many there are, or 0 if that is known only now.  `end` - `at` is a multiple of
    // kVector.
    template<int Ins, int Outs>
    static void middle(void *const *out, int outs, const void *const *in, int ins, std::size_t at,
                       std::size_t end, std::uint32_t streamed) {
        const Sources<Ins> sources(in, ins);
        const Sinks<Outs> sinks(out, outs);
        const StreamMask mask(streamed);
        // The first bytes all at once, or each would wait for the one before.
        if (end - at >= 2 * kBlock)
            for (std::size_t first = at; first < std::min(at + kAhead, end - kBlock);
                 first += kBlock)
                fetch(sources, first);
        for (; end - at >= kBlock; at += kBlock) {
            fetch(sources, std::min(at + kAhead, end - kBlock));
            block<Element, Operation, kVector, kUnroll>(sources, sinks, at, kVector, mask);
        }
        for (; at != end; at += kVector)
            block<Element, Operation, kVector, 1>(sources, sinks, at, 0, mask);
    }
    using Middle = decltype(&middle<0, 0>);

    template<int Outs, int... Hoisted>
    static Middle middle_for(int ins, std::integer_sequence<int, Hoisted...>) {
        constexpr Middle middles[] = {&middle<0, Outs>, &middle<0, Outs>,
                                      &middle<Hoisted + 2, Outs>...};
        return middles[ins <= kMostHoisted ? ins : 0];
    }

    static Middle middle_for(int outs, int ins) {
        if constexpr (kCopies)
            return outs == 1 ? &middle<1, 1> : outs == 2 ? &middle<1, 2> : &middle<1, 0>;
        else {
            constexpr std::make_integer_sequence<int, kMostHoisted - 1> hoisted{};
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
        for (; end - at >= kVector; at += kVector)
            block<Element, Operation, kVector, 1>(sources, sinks, at, 0, StreamMask());
        rest<kVector / 2>(sources, sinks, at, end - at);
    }

    // Less than 2 * Bytes, as two vectors that overlap: 13 elements of 4 bytes are [0, 32) and
    // [20, 52).
    template<std::size_t Bytes>
    [[gnu::always_inline]] static void rest(const Sources<0> &in, const Sinks<0> &out,
                                            std::size_t at, std::size_t size) {
        constexpr std::size_t vectors = Bytes > kElement ? 2 : 1;
        if (size >= Bytes)
            block<Element, Operation, Bytes, vectors>(in, out, at, size - Bytes, StreamMask());
        else if constexpr (Bytes > kElement)
            rest<Bytes / 2>(in, out, at, size);
    }

    [[gnu::noinline]] static void cut(void *const *out, int outs, const void *const *in, int ins,
                                      std::size_t size, std::uint32_t streaming) {
        Layout layout{0, size - size % kVector, 0};
        if (streaming != 0 || size >= kAlignFrom)
            layout = align(out, outs, kElement, size, streaming);
        if (layout.begin != 0)
            edge(out, outs, in, ins, 0, layout.begin);
        middle_for(outs, ins)(out, outs, in, ins, layout.begin, layout.end, layout.streamed);
        if (layout.end != size)
            edge(out, outs, in, ins, layout.end, size);
        if (layout.streamed != 0)
            stream_fence();
    }

    static void pass(void *const *out, int outs, const void *const *in, int ins, std::size_t count,
                     std::uint32_t streaming) {
        if (!kCopies && ins == 1)
            return Kernel<Byte, Only>::pass(out, outs, in, 1, count * kElement, streaming);
        const std::size_t size = count * kElement;
        if (size < kBlock && streaming == 0)
            return edge(out, outs, in, ins, 0, size);
        cut(out, outs, in, ins, size, streaming);
    }
};

template<class Element, class... Operation>
constexpr void fill(Pass (&row)[kReduceOps], std::tuple<Operation...> *) {
    Pass *next = row;
    ((*next++ = &Kernel<Element, Operation>::pass), ...);
}

template<class... Element>
constexpr Table make_table(std::tuple<Element...> *) {
    Table table{&Kernel<Byte, Only>::pass, {}};
    Pass(*row)[kReduceOps] = table.reduce;
    (fill<Element>(*row++, static_cast<Operations *>(nullptr)), ...);
    return table;
}

} // namespace

constinit const Table STRETTO_TABLE = make_table(static_cast<Elements *>(nullptr));

} // namespace stretto::reduce
