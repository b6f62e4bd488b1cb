// SPDX-License-Identifier: BSD-3-Clause
// The cryptography of the proofs: keys, random numbers, keyed hashes.  All of it is BLAKE2b with 32
// bytes, from Monocypher (third_party/monocypher).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace stretto::net {

using Bytes32 = std::array<std::byte, 32>;

// A key whose memory is wiped when its owner ends.
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

// A hash of all added data, which only a holder of the key can compute.  Hashes with different
// labels are independent.
class KeyedHash {
public:
    KeyedHash(const Key &key, std::string_view label);
    // Makes a key from a secret of any length.
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

// Compares in constant time.
bool same(const Bytes32 &a, const Bytes32 &b);

// Overwrites memory; the compiler cannot drop the stores.
void wipe(std::span<std::byte> memory);

// Random bytes from the kernel.  Throws Error(system) if it gives none.
Bytes32 random_bytes();

} // namespace stretto::net
