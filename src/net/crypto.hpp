// SPDX-License-Identifier: BSD-3-Clause
// What the proofs are made of: keys, random numbers, keyed hashes.  All of it is BLAKE2b with 32
// bytes, as Monocypher has it (third_party/monocypher).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace stretto::net {

using Bytes32 = std::array<std::byte, 32>;

// A key that is wiped out of memory with its owner.
class Key {
public:
    Key() = default;
    explicit Key(const Bytes32 &bytes) : bytes_(bytes) {}
    Key(const Key &) = default;
    Key &operator=(const Key &) = default;
    ~Key();
    const Bytes32 &bytes() const { return bytes_; }

private:
    Bytes32 bytes_{};
};

// A hash of all that is added, which only those can compute who know the key.  Hashes with
// different labels have nothing to do with each other.
class KeyedHash {
public:
    KeyedHash(const Key &key, std::string_view label);
    // Of secrets that are no key yet, of any length.
    explicit KeyedHash(std::string_view label);
    ~KeyedHash();
    KeyedHash(const KeyedHash &) = delete;
    KeyedHash &operator=(const KeyedHash &) = delete;

    // Lengths count: "a" and "bc" give another hash than "ab" and "c".
    KeyedHash &add(std::span<const std::byte> bytes);
    KeyedHash &add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
    KeyedHash &add(std::uint64_t number);
    Bytes32 finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// In a time that does not tell where they differ.
bool same(const Bytes32 &a, const Bytes32 &b);

// Overwrites, even if nobody reads it again.
void wipe(std::span<std::byte> memory);

// From the kernel.  Throws Error(system) if it gives none.
Bytes32 random_bytes();

} // namespace stretto::net
