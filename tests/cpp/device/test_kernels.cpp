// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a device, compiled for the CPU, give the bits of the CPU's own passes and maps:
// all types and operations, numbers of operands and results, alignments and lengths, in place or
// not.
#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "device/kernel_names.hpp"
#include "doctest.h"
#include "host_kernels.hpp"
#include "reduce/reference.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::test;
using device::MapArguments;
using device::PassArguments;
using reduce::Mapping;
using reduce::Rounding;

namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kUntouched = 0xa5;

// Buffer b begins at first + b * step, behind a multiple of 64 bytes.
struct Shape {
    std::size_t first, step;
    bool in_place; // results are the first operands
};
constexpr Shape kShapes[] = {{0, 0, false}, {0, 0, true},  {8, 0, false}, {8, 8, false},
                             {4, 0, true},  {4, 4, false}, {2, 0, false}, {2, 2, true},
                             {1, 0, false}, {1, 1, true},  {3, 16, false}};

class Buffer {
public:
    Buffer(std::size_t offset, std::size_t bytes)
        : memory_(bytes + 3 * kGuard, kUntouched), bytes_(bytes) {
        const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
        first_ = (kGuard - at % kGuard) + offset % kGuard;
    }
    unsigned char *data() { return memory_.data() + first_; }
    bool guards_intact() const {
        const auto untouched = [](unsigned char each) { return each == kUntouched; };
        const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(first_);
        return std::all_of(memory_.begin(), begin, untouched) &&
               std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), untouched);
    }

private:
    std::vector<unsigned char> memory_;
    std::size_t bytes_, first_;
};

const host_kernels::Kernel &kernel_named(const std::string &name) {
    const host_kernels::Kernel *const found = host_kernels::find(name);
    REQUIRE_MESSAGE(found != nullptr, name);
    return *found;
}

// One pass; "" or what is wrong.
std::string run(const host_kernels::Kernel &kernel, const Shape &shape, std::size_t element,
                const std::vector<std::vector<std::byte>> &operands, std::size_t outs,
                const std::vector<std::byte> &expected) {
    const std::size_t ins = operands.size(), bytes = expected.size();
    std::vector<Buffer> buffers;
    PassArguments pass{};
    pass.bytes = bytes;
    pass.ins = static_cast<std::int32_t>(ins);
    pass.outs = static_cast<std::int32_t>(outs);
    for (std::size_t b = 0; b < ins + outs; ++b) {
        buffers.emplace_back(shape.first + b * shape.step, bytes);
        if (b < ins)
            std::memcpy(buffers[b].data(), operands[b].data(), bytes);
        const bool over = shape.in_place && b >= ins && b - ins < ins;
        pass.pointers[b] = buffers[over ? b - ins : b].data();
    }
    pass.layout = device::chunk_layout({pass.pointers, ins + outs}, bytes, element);
    host_kernels::run(kernel, device::blocks_for(bytes), device::kBlockThreads, &pass);
    for (std::size_t j = ins; j < ins + outs; ++j)
        if (std::memcmp(pass.pointers[j], expected.data(), bytes) != 0)
            return "a result differs";
    for (std::size_t b = 0; b < ins + outs; ++b) {
        if (!buffers[b].guards_intact())
            return "bytes beside a buffer were written";
        const bool written = b >= ins || (shape.in_place && b < outs);
        if (!written && std::memcmp(buffers[b].data(), operands[b].data(), bytes) != 0)
            return "an operand has changed";
    }
    return "";
}

template<class T>
void check_passes(ReduceOp op, Rounding rounding) {
    const host_kernels::Kernel &kernel =
        kernel_named(device::pass_kernel(dtype_of<T>(), op, rounding));
    const reduce::Pass pass = reduce::pass(dtype_of<T>(), op, rounding, reduce::Isa::baseline);
    for (const int ins : {2, 3, 5, 8})
        for (const std::size_t count : {0, 1, 2, 17, 257, 4099}) {
            std::vector<std::vector<std::byte>> operands;
            std::vector<const void *> in;
            for (int k = 0; k < ins; ++k) {
                std::vector<T> values(count);
                for (std::size_t i = 0; i < count; ++i)
                    values[i] = element<T>(i, k, ins);
                operands.push_back(bytes_of(values));
                in.push_back(operands.back().data());
            }
            std::vector<std::byte> expected(count * sizeof(T));
            void *out = expected.data();
            pass(&out, 1, in.data(), ins, count, 0);
            const bool few = count > 257 && ins != 3;
            for (const std::size_t outs : {1, 3})
                for (const Shape &shape : kShapes) {
                    if ((few || ::test::sampled()) && &shape - kShapes != ins % 11)
                        continue;
                    const std::string wrong =
                        run(kernel, shape, sizeof(T), operands, outs, expected);
                    if (!wrong.empty())
                        FAIL_CHECK(wrong << ": " << kernel.name << ", ins " << ins << ", outs "
                                         << outs << ", count " << count << ", offset "
                                         << shape.first << " + b * " << shape.step << ", in place "
                                         << shape.in_place);
                }
        }
}

template<class T>
void check_map(Mapping mapping, const void *constant) {
    const std::string name = device::map_kernel(mapping, dtype_of<T>());
    const reduce::Map map = reduce::map(mapping, dtype_of<T>(), reduce::Isa::baseline);
    REQUIRE(name.empty() == (map == nullptr));
    if (map == nullptr)
        return;
    const host_kernels::Kernel &kernel = kernel_named(name);
    for (const std::size_t count : {0, 1, 5, 33, 1009})
        for (const Shape &shape : kShapes) {
            std::vector<T> values(count);
            for (std::size_t i = 0; i < count; ++i)
                values[i] = element<T>(i, 0, 1);
            const std::vector<std::byte> given = bytes_of(values);
            std::vector<std::byte> expected(given.size());
            map(expected.data(), given.data(), count, constant);
            Buffer in(shape.first, given.size()), out(shape.first + shape.step, given.size());
            std::memcpy(in.data(), given.data(), given.size());
            MapArguments arguments{};
            arguments.bytes = given.size();
            arguments.in = in.data();
            arguments.out = shape.in_place ? in.data() : out.data();
            if (mapping == Mapping::divide)
                std::memcpy(&arguments.divisor, constant, sizeof(double));
            if (mapping == Mapping::multiply)
                for (std::size_t at = 0; at < device::kChunkBytes; at += sizeof(T))
                    std::memcpy(arguments.factor + at, constant, sizeof(T));
            void *const both[] = {in.data(), arguments.out};
            arguments.layout = device::chunk_layout(both, given.size(), sizeof(T));
            host_kernels::run(kernel, device::blocks_for(given.size()), device::kBlockThreads,
                              &arguments);
            const bool same = std::memcmp(arguments.out, expected.data(), expected.size()) == 0;
            CHECK_MESSAGE(same, name, ", ", count, " elements at ", shape.first, " + ", shape.step);
            CHECK(in.guards_intact());
            CHECK(out.guards_intact());
        }
}

template<class Function>
void for_types(Function &&function) {
    for (int d = 0; d < kDtypes; ++d)
        with_type(static_cast<Dtype>(d), function);
}

} // namespace

TEST_CASE("kernels give the bits of the CPU's passes") {
    for_types([]<class T>(T) {
        for (const ReduceOp op : ops_of(dtype_of<T>()))
            for (const Rounding rounding : {Rounding::once, Rounding::each})
                check_passes<T>(op, rounding);
    });
}

TEST_CASE("kernels give the bits of the CPU's maps") {
    for_types([]<class T>(T) {
        const double ranks = 7;
        const T factor = ordinary<T>(scramble(2, 5)), special = special_values<T>()[5];
        check_map<T>(Mapping::multiply, &factor);
        check_map<T>(Mapping::multiply, &special);
        check_map<T>(Mapping::divide, &ranks);
        check_map<T>(Mapping::truth, nullptr);
    });
}

TEST_CASE("long buffers take several turns of a whole grid") {
    constexpr std::size_t kCount = 5'000'003; // more than a turn of all blocks
    std::vector<std::uint32_t> a(kCount), b(kCount), sum(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
        sum[i] = (a[i] = static_cast<std::uint32_t>(scramble(i, 1))) +
                 (b[i] = static_cast<std::uint32_t>(scramble(i, 2)));
    const std::string name = device::pass_kernel(Dtype::u32, ReduceOp::sum, Rounding::once);
    CHECK(run(kernel_named(name), kShapes[4], 4, {bytes_of(a), bytes_of(b)}, 1, bytes_of(sum)) ==
          "");
    CHECK(device::blocks_for(4 * kCount) <
          4 * kCount / device::kChunkBytes / device::kUnrollChunks / device::kBlockThreads);
}

TEST_CASE("each kernel is there for a type and an operation, and each of these has one") {
    std::set<std::string> named;
    for (int d = 0; d < kDtypes; ++d) {
        const auto dtype = static_cast<Dtype>(d);
        for (int o = 0; o < kReduceOps; ++o)
            for (const Rounding rounding : {Rounding::once, Rounding::each}) {
                const auto op = static_cast<ReduceOp>(o);
                const std::string name = device::pass_kernel(dtype, op, rounding);
                CHECK(name.empty() == (reduce::pass(dtype, op, rounding) == nullptr));
                named.insert(name);
            }
        for (const Mapping mapping : {Mapping::multiply, Mapping::divide, Mapping::truth})
            named.insert(device::map_kernel(mapping, dtype));
    }
    named.erase("");
    std::set<std::string> there;
    for (const host_kernels::Kernel &kernel : host_kernels::all())
        there.emplace(kernel.name);
    CHECK(named == there);
}

TEST_CASE("the widest access that suits all buffers") {
    alignas(16) unsigned char memory[64];
    const auto layout = [&](std::size_t a, std::size_t b, std::size_t bytes, std::size_t element) {
        void *const buffers[] = {memory + a, memory + b};
        const device::ChunkLayout found = device::chunk_layout(buffers, bytes, element);
        return std::pair(found.head, found.width);
    };
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    CHECK(layout(0, 16, 100, 4) == Pair(0, 16));
    CHECK(layout(8, 8, 100, 4) == Pair(8, 16));
    CHECK(layout(8, 8, 4, 4) == Pair(0, 8)); // no room for a head
    CHECK(layout(8, 0, 100, 4) == Pair(0, 8));
    CHECK(layout(12, 4, 100, 4) == Pair(4, 8));
    CHECK(layout(4, 8, 100, 4) == Pair(0, 4));
    CHECK(layout(6, 6, 100, 4) == Pair(0, 2)); // elements straddle chunks
    CHECK(layout(1, 1, 100, 4) == Pair(0, 1));
    CHECK(layout(1, 1, 100, 1) == Pair(15, 16));
    CHECK(layout(8, 8, 100, 16) == Pair(0, 8));
}
