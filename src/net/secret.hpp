// SPDX-License-Identifier: BSD-3-Clause
// The secret that only the ranks of a job know.  It is never printed, copied into messages or sent:
// connections prove that both sides know it (net/handshake.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/settings.hpp"
#include "net/crypto.hpp"

namespace stretto::net {

// The places where it is looked for, in this order.
enum class SecretSource { setting, file };

class Secret {
public:
    // Characters.  32 hexadecimal digits are 128 bits, which cannot be guessed, even by an attacker
    // who has recorded connections.
    static constexpr std::size_t kLeastBytes = 32, kMostBytes = 4096; // characters

    // White space around the value does not count: files end with a new line.  `origin`, for
    // messages: "STRETTO_SECRET", "/home/me/.config/stretto/secret".  Throws Error(argument) if
    // it is too short or too long; the message does not show it.
    Secret(std::string value, SecretSource source, std::string origin);
    Secret(Secret &&other) noexcept = default;
    Secret &operator=(Secret &&) = delete;
    ~Secret();

    SecretSource source() const { return source_; }
    const std::string &origin() const { return origin_; }

    // The key of one job: data recorded from one job is useless against another.
    Key job_key(std::string_view job, std::uint64_t size) const;

private:
    std::string value_;
    SecretSource source_;
    std::string origin_;
};

// The file that is read if STRETTO_SECRET is not set: STRETTO_SECRET_FILE, else stretto/secret in
// $XDG_CONFIG_HOME, else in ~/.config; "" if there is no home either.
std::string secret_file(const Environment &environment = from_process);

// The text of a file that only this user can read or replace.  Throws Error(argument) that names
// the file, or the folder, and the remedy; Error(system) if it cannot be read.
std::string private_text(const std::string &path);

// Throws Error(argument) that says how to make a secret if there is none.
Secret load_secret(const Environment &environment = from_process);

} // namespace stretto::net
