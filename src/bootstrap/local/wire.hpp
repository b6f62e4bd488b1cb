// SPDX-License-Identifier: BSD-3-Clause
// What travels over the socket on which the ranks of a job find one another.  Any process of the
// user can connect to it, so nothing in a message is believed before it is checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "bootstrap/cores.hpp"

namespace stretto::bootstrap {

// From a rank to rank 0.
struct Hello {
    std::int32_t rank = 0, size = 0;
    CoreSet cores; // that the rank may use
};

// From rank 0 to a rank.  The last one is a failure, or ok with two descriptors; before, a rank
// that is let in and has to wait for others is told so by ok with kWelcome.
struct Answer {
    Status status = Status::ok;
    std::string message;
};

inline constexpr std::string_view kWelcome = "welcome";
inline constexpr std::size_t kMostMessageBytes = 1024;
inline constexpr std::size_t kHelloBytes = 16 + sizeof(CoreSet);
inline constexpr std::size_t kAnswerBytes = 8 + kMostMessageBytes;

std::array<std::byte, kHelloBytes> write(const Hello &hello);
// Nothing, if that is no greeting of this version.
std::optional<Hello> parse_hello(std::span<const std::byte> bytes);

// A message that is too long is cut.
std::array<std::byte, kAnswerBytes> write(Status status, std::string_view message);
std::optional<Answer> parse_answer(std::span<const std::byte> bytes);

} // namespace stretto::bootstrap
