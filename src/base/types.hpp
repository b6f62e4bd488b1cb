// SPDX-License-Identifier: BSD-3-Clause
// Element types and operations, with their sizes and names, and the table of which go together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stretto {

// Values are those of stretto.h.  kRecordBase + n stands for elements of n bytes, which only the
// caller's own operations can reduce.
enum class Dtype : std::uint32_t {
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f16,
    bf16,
    f32,
    f64,
    c64,
    c128,
    boolean,
};

// Up to avg, values are those of stretto.h; the caller creates the others.
enum class ReduceOp : std::uint8_t {
    sum,
    prod,
    min,
    max,
    band,
    bor,
    bxor,
    land,
    lor,
    lxor,
    avg,
    premul_sum,
    user,
    user_in_order, // not commutative
};

inline constexpr int kDtypes = 15; // but for records
inline constexpr int kRecordBase = 0x1000;
inline constexpr int kLargestRecordBytes = 4096; // bytes
inline constexpr int kReduceOps = 14;
inline constexpr int kBuiltInOps = 11; // of them

constexpr bool is_user_defined(ReduceOp op) {
    return op >= ReduceOp::user;
}

constexpr bool is_record(Dtype dtype) {
    return static_cast<int>(dtype) >= kRecordBase;
}

// Whether a number is the value of a type.
constexpr bool is_dtype(std::uint64_t value) {
    return value < kDtypes || (value > kRecordBase && value <= kRecordBase + kLargestRecordBytes);
}

enum class Family : std::uint8_t { integer, floating, complex, boolean, record };

constexpr Family family(Dtype dtype) {
    if (dtype < Dtype::f16)
        return Family::integer;
    if (dtype < Dtype::c64)
        return Family::floating;
    if (dtype < Dtype::boolean)
        return Family::complex;
    return is_record(dtype) ? Family::record : Family::boolean;
}

constexpr std::size_t size_of(Dtype dtype) {
    if (is_record(dtype)) [[unlikely]]
        return static_cast<std::size_t>(dtype) - kRecordBase;
    constexpr std::size_t sizes[kDtypes] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1};
    return sizes[static_cast<int>(dtype)];
}

constexpr std::string_view name(Dtype dtype) {
    if (is_record(dtype))
        return "record";
    constexpr std::string_view names[kDtypes] = {
        "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32", "uint64",
        "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"};
    return names[static_cast<int>(dtype)];
}

// For messages: "float32", "record of 12 bytes".
inline std::string words(Dtype dtype) {
    std::string text(name(dtype));
    if (is_record(dtype))
        text += " of " + std::to_string(size_of(dtype)) + " bytes";
    return text;
}

constexpr std::string_view name(ReduceOp op) {
    constexpr std::string_view names[kReduceOps] = {
        "sum",          "prod",
        "min",          "max",
        "band",         "bor",
        "bxor",         "land",
        "lor",          "lxor",
        "avg",          "premul_sum",
        "user-defined", "user-defined and not commutative"};
    return names[static_cast<int>(op)];
}

// Which operations reduce which types; docs/data.md gives the reasons.  Integers wrap and have no
// average; floating-point numbers have no bitwise operations; complex numbers have no order either;
// and libraries do not agree on the sum of truth values.
constexpr bool supports(Dtype dtype, ReduceOp op) {
    using enum ReduceOp;
    const auto any_of = [op](auto... ops) { return ((op == ops) || ...); };
    if (is_user_defined(op))
        return true;
    switch (family(dtype)) {
    case Family::integer: return op != avg;
    case Family::floating: return any_of(sum, prod, min, max, avg, premul_sum);
    case Family::complex: return any_of(sum, prod, avg, premul_sum);
    case Family::boolean: return !any_of(sum, prod, avg, premul_sum);
    case Family::record: return false;
    }
    return false;
}

// The same as a bit set: bit `op` of the type's entry.
inline constexpr auto kSupportedOps = [] {
    std::array<std::uint32_t, kDtypes> bits{};
    for (int dtype = 0; dtype < kDtypes; ++dtype)
        for (int op = 0; op < kReduceOps; ++op)
            if (supports(static_cast<Dtype>(dtype), static_cast<ReduceOp>(op)))
                bits[static_cast<std::size_t>(dtype)] |= std::uint32_t{1} << op;
    return bits;
}();

constexpr std::uint32_t supported_ops(Dtype dtype) {
    if (is_record(dtype)) [[unlikely]]
        return std::uint32_t{3} << static_cast<int>(ReduceOp::user);
    return kSupportedOps[static_cast<std::size_t>(dtype)];
}

// Whether every order of the operands gives the same bits: true for integers, which wrap.
constexpr bool exact(Dtype dtype, ReduceOp op) {
    return !is_user_defined(op) &&
           (family(dtype) == Family::integer || family(dtype) == Family::boolean);
}

// Whether results are 0 or 1, whatever the operands.
constexpr bool gives_truth(Dtype dtype, ReduceOp op) {
    return !is_user_defined(op) &&
           (family(dtype) == Family::boolean || (op >= ReduceOp::land && op <= ReduceOp::lxor));
}

} // namespace stretto
