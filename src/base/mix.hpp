// SPDX-License-Identifier: BSD-3-Clause
// One hash of two: what all fingerprints are made by.
#pragma once

#include <bit>
#include <cstdint>

namespace stretto {

// The finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) over a linear combination.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15U + std::rotl(b, 32) + 0x632be59bd9b4e019U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

} // namespace stretto
