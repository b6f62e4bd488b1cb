// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <array>
#include <string>

#include "net/crypto.hpp"

using namespace stretto::net;

namespace {

std::string hex(const Bytes32 &bytes) {
    std::string text;
    for (const std::byte byte : bytes)
        for (const unsigned digit :
             {std::to_integer<unsigned>(byte) >> 4, std::to_integer<unsigned>(byte) & 15})
            text += "0123456789abcdef"[digit];
    return text;
}

Key counted() {
    Bytes32 bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i);
    return Key(bytes);
}

} // namespace

// Expected: Python's hashlib.blake2b(data, digest_size=32, key=...), every part after its length in
// eight bytes.
TEST_CASE("hashes are BLAKE2b") {
    CHECK(hex(KeyedHash("label").add("abc").finish()) ==
          "46145883a073b5b7747423c58c4c3f92b6ebe14cfb2ae507c17e6331b645f297");
    CHECK(hex(KeyedHash(counted(), "label").add("abc").add(7).finish()) ==
          "016aacfec0c71411791fbb7455b9336e6d0652a5cb337d5a7857f19c2aac38db");
    const std::string longer(300, '\xaa');
    CHECK(hex(KeyedHash(counted(), "").add(longer).finish()) ==
          "173340aae68425d8529dc5c254382f4f38b47325494ea03d501bb0e51ee21ede");
}

TEST_CASE("parts and labels count") {
    const auto hash = [](const char *label, std::string_view a, std::string_view b) {
        return hex(KeyedHash(counted(), label).add(a).add(b).finish());
    };
    CHECK(hash("l", "a", "bc") != hash("l", "ab", "c"));
    CHECK(hash("l", "a", "bc") != hash("la", "", "bc"));
    CHECK(hash("l", "a", "bc") == hash("l", "a", "bc"));
    CHECK(hex(KeyedHash(Key(), "l").finish()) != hex(KeyedHash("l").finish()));
}

TEST_CASE("comparing, wiping, random bytes") {
    Bytes32 bytes = random_bytes();
    CHECK(bytes != random_bytes());
    const Bytes32 copy = bytes;
    CHECK(same(bytes, copy));
    for (const std::size_t at : {0, 15, 31}) {
        Bytes32 other = bytes;
        other[at] ^= std::byte{1};
        CHECK_FALSE(same(bytes, other));
    }
    wipe(bytes);
    CHECK(bytes == Bytes32{});
    CHECK(copy != Bytes32{});
}
