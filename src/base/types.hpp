// SPDX-License-Identifier: BSD-3-Clause
// What is reduced and how: element types and operations, with their sizes and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stretto {

// Values are those of stretto.h.
enum class Dtype : std::uint8_t { f32 = 0, f64 = 1, i32 = 2, i64 = 3 };
enum class ReduceOp : std::uint8_t { sum = 0, prod = 1, min = 2, max = 3 };

inline constexpr int kDtypes = 4;
inline constexpr int kReduceOps = 4;

constexpr std::size_t size_of(Dtype dtype) {
    constexpr std::size_t sizes[kDtypes] = {4, 8, 4, 8};
    return sizes[static_cast<int>(dtype)];
}

constexpr std::string_view name(Dtype dtype) {
    constexpr std::string_view names[kDtypes] = {"float32", "float64", "int32", "int64"};
    return names[static_cast<int>(dtype)];
}

constexpr std::string_view name(ReduceOp op) {
    constexpr std::string_view names[kReduceOps] = {"sum", "prod", "min", "max"};
    return names[static_cast<int>(op)];
}

} // namespace stretto
