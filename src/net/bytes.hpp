// SPDX-License-Identifier: BSD-3-Clause
// Numbers on the wire: the least significant byte first, on whatever machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

namespace stretto::net {

template<std::unsigned_integral Number>
constexpr Number swapped_if_big(Number number) {
    if constexpr (std::endian::native == std::endian::little || sizeof(Number) == 1) {
        return number;
    } else {
        Number result = 0;
        for (std::size_t i = 0; i < sizeof(Number); ++i)
            result = static_cast<Number>(result << 8 | (number >> (8 * i) & 0xff));
        return result;
    }
}

template<std::unsigned_integral Number>
void put(std::span<std::byte> bytes, std::size_t at, Number number) {
    number = swapped_if_big(number);
    std::memcpy(bytes.subspan(at).first(sizeof(number)).data(), &number, sizeof(number));
}

template<std::unsigned_integral Number>
Number get(std::span<const std::byte> bytes, std::size_t at) {
    Number number;
    std::memcpy(&number, bytes.subspan(at).first(sizeof(number)).data(), sizeof(number));
    return swapped_if_big(number);
}

} // namespace stretto::net
