// SPDX-License-Identifier: BSD-3-Clause
// Combines two hashes into one: all fingerprints are made by it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stretto {

// The finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) over a linear combination.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15U + std::rotl(b, 32) + 0x632be59bd9b4e019U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

// The hash of a text.  The values of std::hash differ between C++ libraries; ranks may be built
// with different ones, and they compare hashes.
constexpr std::uint64_t mix(std::string_view text) {
    std::uint64_t result = text.size(), word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * (i % 8);
        if (i % 8 == 7 || i + 1 == text.size()) {
            result = mix(result, word);
            word = 0;
        }
    }
    return result;
}

} // namespace stretto
