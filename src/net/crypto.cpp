// SPDX-License-Identifier: BSD-3-Clause
#include "net/crypto.hpp"

#include <cerrno>
#include <monocypher.h>
#include <sys/random.h>

#include "base/interrupted.hpp"
#include "base/status.hpp"

namespace stretto::net {

namespace {

const std::uint8_t *raw(const std::byte *bytes) {
    return reinterpret_cast<const std::uint8_t *>(bytes);
}

std::array<std::byte, 8> little_endian(std::uint64_t number) {
    std::array<std::byte, 8> bytes;
    for (std::byte &byte : bytes) {
        byte = static_cast<std::byte>(number & 0xff);
        number >>= 8;
    }
    return bytes;
}

} // namespace

struct KeyedHash::State {
    crypto_blake2b_ctx context;
    ~State() { crypto_wipe(&context, sizeof(context)); }
    void put(std::span<const std::byte> bytes) {
        crypto_blake2b_update(&context, raw(bytes.data()), bytes.size());
    }
};

Key::~Key() {
    wipe(bytes_);
}

KeyedHash::KeyedHash(const Key &key, std::string_view label) : state_(std::make_unique<State>()) {
    crypto_blake2b_keyed_init(&state_->context, sizeof(Bytes32), raw(key.bytes().data()),
                              key.bytes().size());
    add(label);
}

KeyedHash::KeyedHash(std::string_view label) : state_(std::make_unique<State>()) {
    crypto_blake2b_init(&state_->context, sizeof(Bytes32));
    add(label);
}

KeyedHash::~KeyedHash() = default;

KeyedHash &KeyedHash::add(std::span<const std::byte> bytes) {
    state_->put(little_endian(bytes.size()));
    state_->put(bytes);
    return *this;
}

KeyedHash &KeyedHash::add(std::uint64_t number) {
    return add(std::span<const std::byte>(little_endian(number)));
}

Bytes32 KeyedHash::finish() {
    Bytes32 hash;
    crypto_blake2b_final(&state_->context, reinterpret_cast<std::uint8_t *>(hash.data()));
    return hash;
}

bool same(const Bytes32 &a, const Bytes32 &b) {
    return crypto_verify32(raw(a.data()), raw(b.data())) == 0;
}

void wipe(std::span<std::byte> memory) {
    crypto_wipe(memory.data(), memory.size());
}

Bytes32 random_bytes() {
    Bytes32 bytes;
    std::size_t got = 0;
    while (got < bytes.size()) {
        const ssize_t more =
            uninterrupted([&] { return getrandom(bytes.data() + got, bytes.size() - got, 0); });
        if (more < 0)
            throw_errno("the kernel gives no random numbers");
        got += static_cast<std::size_t>(more);
    }
    return bytes;
}

} // namespace stretto::net
