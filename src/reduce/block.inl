// SPDX-License-Identifier: BSD-3-Clause
// The innermost loops: fold a few vectors of all operands, write them to all outputs.
#pragma once

#include <type_traits>

#include "reduce/operations.inl"

namespace stretto::reduce {
namespace {

// `Known` pointers, in registers; or (0) as many as there are, read from the caller's list.
template<class Byte, int Known>
class Pointers {
    using Void = std::conditional_t<std::is_const_v<Byte>, const void, void>;

public:
    Pointers(Void *const *list, int) {
        for (int k = 0; k < Known; ++k)
            hoisted_[k] = static_cast<Byte *>(list[k]);
    }
    static constexpr int size() { return Known; }
    Byte *operator[](int k) const { return hoisted_[k]; }

private:
    Byte *hoisted_[static_cast<std::size_t>(Known)];
};

template<class Byte>
class Pointers<Byte, 0> {
    using Void = std::conditional_t<std::is_const_v<Byte>, const void, void>;

public:
    Pointers(Void *const *list, int size) : list_(list), size_(size) {}
    int size() const { return size_; }
    Byte *operator[](int k) const { return static_cast<Byte *>(list_[k]); }

private:
    Void *const *list_;
    int size_;
};

template<int Known>
using Sources = Pointers<const std::byte, Known>;
template<int Known>
using Sinks = Pointers<std::byte, Known>;

// Bit j: whether out[j] is streamed.  Outputs beyond the bits never are.
class StreamMask {
public:
    StreamMask() = default;
    explicit StreamMask(std::uint32_t bits) : bits_(bits) {}
    bool operator[](int j) const { return j < 32 && ((bits_ >> j) & 1) != 0; }

private:
    std::uint32_t bits_ = 0;
};

// Prefetches the `Bytes` bytes from `from` on.
template<std::size_t Bytes>
[[gnu::always_inline]] inline void fetch(const std::byte *from) {
    for (std::size_t byte = 0; byte < Bytes; byte += kLineBytes)
        __builtin_prefetch(from + byte);
}

// `Count` vectors of `Bytes` bytes, `stride` apart.  All are read before any is written.  With
// `Fetch`, as many bytes at `ahead` of each operand are prefetched as it is read.
template<class Element, class Operation, std::size_t Bytes, std::size_t Count, bool Fetch = false,
         int Ins, int Outs>
[[gnu::always_inline]] inline void block(const Sources<Ins> &in, const Sinks<Outs> &out,
                                         std::size_t at, std::size_t stride, StreamMask streamed,
                                         std::size_t ahead = 0) {
    using V =
        Vector<typename Element::Stored, (Bytes < kLeastVectorBytes ? kLeastVectorBytes : Bytes)>;
    const auto vector = [&](const std::byte *from, std::size_t v) __attribute__((always_inline)) {
        return Element::enter(load<V, Bytes>(from + at + v * stride));
    };
    const std::byte *from = in[0];
    decltype(vector(from, 0)) folded[Count];
    if constexpr (Fetch)
        fetch<Bytes * Count>(from + ahead);
    for (std::size_t v = 0; v < Count; ++v)
        folded[v] = vector(from, v);
    for (int k = 1; k < in.size(); ++k) {
        from = in[k];
        if constexpr (Fetch)
            fetch<Bytes * Count>(from + ahead);
        for (std::size_t v = 0; v < Count; ++v)
            folded[v] = Element::template settle<Operation>(
                combine<Element, Operation>(folded[v], vector(from, v)));
    }
    V result[Count];
    for (std::size_t v = 0; v < Count; ++v)
        result[v] = Element::leave(finish<Element, Operation>(folded[v]));
    for (int j = 0; j < out.size(); ++j) {
        if (Bytes == kVectorBytes && streamed[j])
            for (std::size_t v = 0; v < Count; ++v)
                stream(out[j] + at + v * stride, result[v]);
        else
            for (std::size_t v = 0; v < Count; ++v)
                store<Bytes>(out[j] + at + v * stride, result[v]);
    }
}

} // namespace
} // namespace stretto::reduce
