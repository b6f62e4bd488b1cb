// SPDX-License-Identifier: BSD-3-Clause
#include "device/kernel_names.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace stretto::device {

// More blocks than a device runs at once: blocks take turns of their own then.
static constexpr std::size_t kMostGridBlocks = 1024;

static std::string bits_of(Dtype dtype) {
    return std::to_string(8 * size_of(dtype));
}

// "f32" for floating-point and complex numbers of such parts.
static std::string floating_name(Dtype dtype) {
    switch (dtype) {
    case Dtype::bf16: return "bf16";
    case Dtype::c64: return "f32";
    case Dtype::c128: return "f64";
    default: return "f" + bits_of(dtype);
    }
}

static std::string_view bitwise_name(ReduceOp op) {
    switch (op) {
    case ReduceOp::min:
    case ReduceOp::band:
    case ReduceOp::land: return "_and";
    case ReduceOp::bxor:
    case ReduceOp::lxor: return "_xor";
    default: return "_or";
    }
}

// The choice is that of pass_for() in src/reduce/pass.inl.
std::string pass_kernel(Dtype dtype, ReduceOp op, reduce::Rounding rounding) {
    if (is_user_defined(op) || !supports(dtype, op))
        return {};
    if (op == ReduceOp::avg || op == ReduceOp::premul_sum)
        op = ReduceOp::sum;
    const bool adds = op == ReduceOp::sum || op == ReduceOp::prod;
    const std::string operation = "_" + std::string(name(op));
    std::string kernel = "stretto_";
    if (gives_truth(dtype, op))
        return kernel.append("truth").append(bits_of(dtype)).append(bitwise_name(op));
    if (op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor)
        return kernel.append("bits").append(bitwise_name(op));
    if (family(dtype) == Family::integer)
        return kernel.append(adds || dtype >= Dtype::u8 ? "u" : "i") + bits_of(dtype) + operation;
    if (family(dtype) == Family::complex && op == ReduceOp::prod)
        return kernel.append("c") + bits_of(dtype) + operation;
    kernel += floating_name(dtype);
    if (size_of(dtype) == 2 && adds && rounding == reduce::Rounding::each)
        kernel += "_each";
    return kernel + operation;
}

std::string map_kernel(reduce::Mapping mapping, Dtype dtype) {
    std::string kernel = "stretto_map_";
    switch (mapping) {
    case reduce::Mapping::multiply:
        if (!supports(dtype, ReduceOp::premul_sum))
            return {};
        if (family(dtype) == Family::integer)
            return kernel.append("u") + bits_of(dtype) + "_times";
        if (family(dtype) == Family::complex)
            return kernel.append("c") + bits_of(dtype) + "_times";
        return kernel + floating_name(dtype) + "_times";
    case reduce::Mapping::divide:
        return supports(dtype, ReduceOp::avg) ? kernel + floating_name(dtype) + "_over" : "";
    case reduce::Mapping::truth:
        return supports(dtype, ReduceOp::land) && gives_truth(dtype, ReduceOp::land)
                   ? kernel + "truth" + bits_of(dtype)
                   : "";
    }
    return {};
}

ChunkLayout chunk_layout(std::span<void *const> buffers, std::size_t bytes, std::size_t element) {
    const auto address = [](void *buffer) { return reinterpret_cast<std::uintptr_t>(buffer); };
    for (std::size_t width = kChunkBytes; width > 1; width /= 2) {
        const std::size_t head = (width - address(buffers[0]) % width) % width;
        const bool alike = std::ranges::all_of(
            buffers, [&](void *each) { return (address(each) + head) % width == 0; });
        if (alike && head % element == 0 && head <= bytes)
            return {static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(width)};
    }
    return {0, 1};
}

unsigned blocks_for(std::size_t bytes) {
    constexpr std::size_t kTurnBytes = std::size_t{kBlockThreads} * kUnrollChunks * kChunkBytes;
    return static_cast<unsigned>(
        std::clamp<std::size_t>((bytes + kTurnBytes - 1) / kTurnBytes, 1, kMostGridBlocks));
}

} // namespace stretto::device
