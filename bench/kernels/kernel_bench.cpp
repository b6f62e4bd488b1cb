// SPDX-License-Identifier: BSD-3-Clause
// How fast the element-wise kernels are, on one core: what a tiny call costs, what the caches
// give, what misaligned operands take away, and what streaming stores gain.
//
// GB/s counts what is read and what is written: (ins + outs) * bytes.  Each number is the fastest
// of several batches of a few milliseconds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "reduce/kernels.hpp"

using namespace stretto;

namespace {

constexpr std::size_t kPage = 4096;

struct Case {
    int ins = 2;
    int outs = 1;
    std::size_t count = 1;
    std::size_t shift = 0; // buffer k, operands before outputs, lies k * shift bytes into a line
    std::uint32_t streaming = 0;
};

class Buffers {
public:
    // Numbered from `first`, so that inputs and outputs differ.
    Buffers(int first, int number, std::size_t bytes, std::size_t shift) {
        for (int k = first; k < first + number; ++k) {
            // Buffers that differ in their low 12 address bits do not disturb one another.
            const auto index = static_cast<std::size_t>(k);
            const std::size_t size = (bytes + 3 * kPage) / kPage * kPage;
            memory_.emplace_back(static_cast<float *>(std::aligned_alloc(kPage, size)), &std::free);
            std::fill_n(memory_.back().get(), size / sizeof(float), 1.0f);
            pointers_.push_back(reinterpret_cast<std::byte *>(memory_.back().get()) +
                                index * 320 % kPage + index * shift % 64);
        }
    }
    void **list() { return pointers_.data(); }

private:
    std::vector<std::unique_ptr<float, decltype(&std::free)>> memory_;
    std::vector<void *> pointers_;
};

double nanoseconds(reduce::Pass pass, const Case &c, std::size_t element) {
    const std::size_t bytes = c.count * element;
    Buffers in(0, c.ins, bytes, c.shift), out(c.ins, c.outs, bytes, c.shift);
    const auto batch = [&](std::uint64_t calls) {
        const std::uint64_t start = now_ns();
        for (std::uint64_t call = 0; call < calls; ++call)
            pass(out.list(), c.outs, in.list(), c.ins, c.count, c.streaming);
        return static_cast<double>(now_ns() - start) / static_cast<double>(calls);
    };
    batch(2);
    const double once = batch(2);
    const auto calls = static_cast<std::uint64_t>(std::max(2.0, 2e6 / std::max(once, 1.0)));
    double best = once;
    for (int k = 0; k < 7; ++k)
        best = std::min(best, batch(calls));
    return best;
}

void print(const char *what, reduce::Isa isa, const Case &c, reduce::Pass pass,
           std::size_t element = sizeof(float)) {
    const double ns = nanoseconds(pass, c, element);
    const auto bytes = static_cast<double>(c.count * element);
    std::printf("%-10s %-9s %4d %4d %10.0f %6zu %3x %12.1f %8.1f\n", what,
                std::string(reduce::name(isa)).c_str(), c.ins, c.outs, bytes, c.shift, c.streaming,
                ns, bytes * (c.ins + c.outs) / ns);
}

void measure(reduce::Isa isa) {
    const auto sum = reduce::pass(Dtype::f32, ReduceOp::sum, reduce::Rounding::once, isa);
    const auto max = reduce::pass(Dtype::f32, ReduceOp::max, reduce::Rounding::once, isa);
    const auto copy = reduce::copy_pass(isa);
    for (const std::size_t count : {1, 2, 3, 4, 8, 15, 16, 31, 64, 256, 257})
        print("sum tiny", isa, {2, 1, count}, sum);
    for (const std::size_t bytes : {4, 8, 16, 63, 64, 256, 1024})
        print("copy tiny", isa, {1, 1, bytes}, copy, 1);
    for (const std::size_t kib : {4, 8, 64, 192, 1024})
        for (const std::size_t shift : {0, 16, 20}) {
            print("sum", isa, {2, 1, kib * 256, shift}, sum);
            print("copy", isa, {1, 1, kib * 1024, shift}, copy, 1);
        }
    print("max", isa, {2, 1, 8 * 256}, max);
    for (const int ins : {3, 4, 8, 9, 16, 33})
        for (const std::size_t kib : {2, 32})
            print("sum", isa, {ins, 1, kib * 256}, sum);
    for (const int outs : {1, 2, 3})
        print("sum", isa, {2, outs, 8 * 256}, sum);
    for (const std::uint32_t streaming : {0, 1})
        for (const std::size_t shift : {0, 20}) {
            print("sum", isa, {2, 1, std::size_t{16} << 20, shift, streaming}, sum);
            print("copy", isa, {1, 1, std::size_t{64} << 20, shift, streaming}, copy, 1);
        }
}

} // namespace

int main() {
    std::printf("%-10s %-9s %4s %4s %10s %6s %3s %12s %8s\n", "pass", "isa", "ins", "outs", "bytes",
                "shift", "nt", "ns", "GB/s");
    for (const auto isa : {reduce::Isa::baseline, reduce::Isa::avx2, reduce::Isa::avx512})
        if (reduce::available(isa))
            measure(isa);
}
