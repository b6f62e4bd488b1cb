// SPDX-License-Identifier: BSD-3-Clause
// Every kernel in every shape: numbers of operands and outputs, lengths, alignments, streaming and
// in place, against the reference; with guards around each output, and operands left as they were.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "doctest.h"
#include "reduce/strings.hpp"
#include "reference.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 1009, 4096 + 5};
constexpr std::size_t kLine = 64;
constexpr std::size_t kGuard = 2 * kLine; // bytes between buffers, at least
constexpr std::byte kUntouched{0xa5};

// How the buffers of one pass lie; offsets are in bytes from the start of a cache line.
struct Shape {
    std::size_t first, step; // buffer b, operands before outputs, lies at first + b * step
    std::uint32_t streaming;
    int in_place; // out[j] is in[(j + in_place) % ins] for as many j as there are operands; -1:
                  // none
};

constexpr Shape kShapes[] = {
    {0, 0, 0, -1},  {0, 0, 1, 0}, {16, 0, 0, 0}, {16, 0, ~0u, -1}, {4, 4, 0, -1}, {8, 24, 3, 1},
    {0, 8, ~0u, 2}, {1, 3, 0, 0}, {1, 7, 1, -1}, {40, 0, 2, -1},   {60, 0, 1, 5}, {24, 32, ~0u, -1},
};

// Buffers with guards, each at a chosen place in its cache line, in memory that is used again.
class Buffers {
public:
    Buffers(std::vector<std::byte> &memory, std::size_t number, std::size_t bytes)
        : memory_(memory), bytes_(bytes) {
        size_ = number * room() + kLine;
        if (memory.size() < size_)
            memory.resize(size_);
        std::fill_n(memory.begin(), size_, kUntouched);
        next_ = memory.data() + kLine - reinterpret_cast<std::uintptr_t>(memory.data()) % kLine;
    }
    std::byte *add(std::size_t offset) {
        data_.push_back(next_ + kGuard + offset % kLine);
        next_ += room();
        return data_.back();
    }
    bool guards_intact() const {
        const std::byte *guard = memory_.data();
        const auto intact = [&](const std::byte *end) {
            return std::all_of(guard, end, [](std::byte value) { return value == kUntouched; });
        };
        for (const std::byte *data : data_) {
            if (!intact(data))
                return false;
            guard = data + bytes_;
        }
        return intact(memory_.data() + size_);
    }

private:
    std::size_t room() const { return (bytes_ + kLine - 1) / kLine * kLine + kGuard + kLine; }

    std::vector<std::byte> &memory_;
    std::size_t bytes_, size_;
    std::byte *next_;
    std::vector<std::byte *> data_;
};

using Operands = std::vector<std::vector<std::byte>>;

void mix_in(std::uint64_t &hash, const std::byte *data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        hash = (hash ^ static_cast<std::uint64_t>(data[i])) * 0x100000001b3; // FNV-1a
}

// One call.  Null, or what is wrong.
const char *run(reduce::Pass pass, const Shape &shape, int outs, const Operands &operands,
                std::size_t count, const std::vector<std::byte> &expected, std::uint64_t &hash) {
    const int ins = static_cast<int>(operands.size());
    const std::size_t bytes = expected.size();
    const std::size_t number = operands.size() + static_cast<std::size_t>(outs);
    static std::vector<std::byte> memory;
    Buffers buffers(memory, number, bytes);
    std::vector<const void *> in;
    std::vector<void *> out, places;
    for (std::size_t b = 0; b < number; ++b)
        places.push_back(buffers.add(shape.first + b * shape.step));
    for (const auto &operand : operands) {
        void *const place = places[in.size()];
        std::copy(operand.begin(), operand.end(), static_cast<std::byte *>(place));
        in.push_back(place);
    }
    std::vector<bool> overwritten(operands.size());
    for (int j = 0; j < outs; ++j) {
        if (shape.in_place >= 0 && j < ins) {
            const auto k = static_cast<std::size_t>((j + shape.in_place) % ins);
            out.push_back(places[k]);
            overwritten[k] = true;
        } else {
            out.push_back(places[static_cast<std::size_t>(ins + j)]);
        }
    }
    pass(out.data(), outs, in.data(), ins, count, shape.streaming);
    for (const void *result : out) {
        if (bytes != 0 && std::memcmp(result, expected.data(), bytes) != 0)
            return "a result differs";
        mix_in(hash, static_cast<const std::byte *>(result), std::min<std::size_t>(bytes, 512));
    }
    for (std::size_t k = 0; k < operands.size(); ++k)
        if (!overwritten[k] && !std::equal(operands[k].begin(), operands[k].end(),
                                           static_cast<const std::byte *>(in[k])))
            return "an operand has changed";
    return buffers.guards_intact() ? nullptr : "bytes beside a buffer were written";
}

// All shapes for one set of operands, on all instruction sets.
void run_all(const std::string &what, const std::vector<reduce::Pass> &passes,
             const Operands &operands, std::size_t count, const std::vector<std::byte> &expected,
             std::vector<std::uint64_t> &hashes) {
    for (std::size_t isa = 0; isa < passes.size(); ++isa)
        for (const int outs : {1, 2, 3, 5})
            for (const Shape &shape : kShapes) {
                const char *wrong =
                    run(passes[isa], shape, outs, operands, count, expected, hashes[isa]);
                if (wrong != nullptr)
                    FAIL_CHECK(std::string(wrong)
                               << ": " << what << ", isa " << isa << ", ins " << operands.size()
                               << ", outs " << outs << ", count " << count << ", offset "
                               << shape.first << " + b * " << shape.step << ", streaming "
                               << shape.streaming << ", in place " << shape.in_place);
            }
}

std::vector<int> fan_ins() {
    std::vector<int> fans(17);
    std::iota(fans.begin(), fans.end(), 1);
    fans.insert(fans.end(), {33, 63});
    return fans;
}

// The kernels that the passes of other types and operations share need not be walked in every shape
// for each of them.
bool stands_for_others(Dtype dtype, ReduceOp op) {
    return (dtype == Dtype::f32 || dtype == Dtype::i64 || dtype == Dtype::bf16) &&
           (op == ReduceOp::sum || op == ReduceOp::min);
}

// Operands of `count` elements, and the bytes of what they fold to.
template<class T>
std::pair<Operands, std::vector<std::byte>> folded_operands(ReduceOp op, reduce::Rounding rounding,
                                                            int ins, std::size_t count) {
    Operands operands;
    std::vector<Fold<T>> folds(count, Fold<T>(op, rounding));
    for (int k = 0; k < ins; ++k) {
        std::vector<T> operand(count);
        for (std::size_t i = 0; i < count; ++i) {
            operand[i] = element<T>(i, k, ins);
            folds[i].add(operand[i]);
        }
        operands.push_back(bytes_of(operand));
    }
    std::vector<T> folded(count);
    for (std::size_t i = 0; i < count; ++i)
        folded[i] = folds[i].result();
    return {operands, bytes_of(folded)};
}

template<class T>
void walk(ReduceOp op, reduce::Rounding rounding) {
    const Dtype dtype = dtype_of<T>();
    if (rounding == reduce::Rounding::each && !kShort<T>) {
        for (const auto isa : available_isas())
            CHECK((reduce::pass(dtype, op, rounding, isa) ==
                   reduce::pass(dtype, op, reduce::Rounding::once, isa)));
        return;
    }
    const bool all = stands_for_others(dtype, op) || ::test::full_tier();
    std::vector<reduce::Pass> passes;
    for (const auto isa : available_isas())
        passes.push_back(reduce::pass(dtype, op, rounding, isa));
    std::vector<std::uint64_t> hashes(passes.size());
    for (const int ins : all ? fan_ins() : std::vector<int>{1, 2, 5, 8, 11})
        for (const std::size_t count : kCounts) {
            if (!all && count > 200 && ins != 5)
                continue;
            const auto [operands, folded] = folded_operands<T>(op, rounding, ins, count);
            run_all(std::string(name(op)) + " of " + std::string(name(dtype)), passes, operands,
                    count, folded, hashes);
        }
    for (const std::uint64_t hash : hashes)
        CHECK(hash == hashes.front());
}

} // namespace

TEST_CASE("outputs beyond the bits of the mask leave it full") {
    CHECK(reduce::first_outputs(0) == 0);
    CHECK(reduce::first_outputs(1) == 1);
    CHECK(reduce::first_outputs(31) == 0x7fffffff);
    for (const int outs : {32, 33, 34, 64, 1000})
        CHECK(reduce::first_outputs(outs) == 0xffffffff);
}

TEST_CASE("every reduction, in every shape, on every instruction set") {
    for (int d = 0; d < kDtypes; ++d)
        for (const ReduceOp op : ops_of(static_cast<Dtype>(d)))
            for (const auto rounding : {reduce::Rounding::once, reduce::Rounding::each})
                with_type(static_cast<Dtype>(d), [&]<class T>(T) { walk<T>(op, rounding); });
}

TEST_CASE("a copy of any number of bytes to any number of outputs") {
    std::vector<reduce::Pass> passes;
    for (const auto isa : available_isas())
        passes.push_back(reduce::copy_pass(isa));
    passes.push_back(reduce::copy_by_strings);
    std::vector<std::uint64_t> hashes(passes.size());
    std::vector<std::size_t> counts(300);
    std::iota(counts.begin(), counts.end(), 0);
    counts.insert(counts.end(), {1009, 1024, 4096 + 5, 65536 + 63});
    for (const std::size_t count : counts) {
        std::vector<std::byte> source(count);
        for (std::size_t i = 0; i < count; ++i)
            source[i] = static_cast<std::byte>(scramble(i, count));
        run_all("copy", passes, {source}, count, source, hashes);
    }
    for (const std::uint64_t hash : hashes)
        CHECK(hash == hashes.front());
}

TEST_CASE("a reduction whose last output is written by strings") {
    for (const Dtype dtype : {Dtype::u8, Dtype::f16, Dtype::f32, Dtype::f64, Dtype::c128})
        with_type(dtype, [&]<class T>(T) {
            // With one instruction set: the bits of a reduction are those of the pass below it.
            static reduce::Pass below;
            below = reduce::pass(dtype, ReduceOp::sum);
            const reduce::Pass pass = [](void *const *out, int outs, const void *const *in, int ins,
                                         std::size_t count, std::uint32_t) {
                std::vector<void *> to(out, out + outs);
                std::vector<const void *> from(in, in + ins);
                reduce::pass_to_string(below, sizeof(T), to.data(), outs, from.data(), ins, count);
            };
            // Around the blocks in which it goes.
            for (const std::size_t bytes : {16, 1008, 16384 - 16, 16384, 16384 + 16, 50000}) {
                const std::size_t count = bytes / sizeof(T);
                for (const int ins : {2, 5, 9}) {
                    const auto [operands, folded] =
                        folded_operands<T>(ReduceOp::sum, reduce::Rounding::once, ins, count);
                    std::vector<std::uint64_t> hashes(1);
                    run_all("a sum by strings", {pass}, operands, count, folded, hashes);
                }
            }
        });
}

TEST_CASE("more outputs than streaming has bits") {
    constexpr int outs = 40;
    const std::vector<std::int32_t> a{1, 2, 3}, b{10, 20, 30}, expected{11, 22, 33};
    for (const auto isa : available_isas()) {
        std::uint64_t hash = 0;
        CHECK(run(reduce::pass(Dtype::i32, ReduceOp::sum, reduce::Rounding::once, isa),
                  {0, 0, ~0u, -1}, outs, {bytes_of(a), bytes_of(b)}, a.size(), bytes_of(expected),
                  hash) == nullptr);
        const std::vector<std::byte> source(1000, std::byte{7});
        CHECK(run(reduce::copy_pass(isa), {0, 0, ~0u, -1}, outs, {source}, source.size(), source,
                  hash) == nullptr);
    }
}
