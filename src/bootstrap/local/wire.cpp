// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/local/wire.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::bootstrap {

namespace {

constexpr std::uint32_t kMagic = 0x53545233; // and the protocol's version

//     hello    | magic | rank   | size | 0 | cores ...
//     answer   | magic | status | message, zeros ...
struct HelloLayout {
    std::uint32_t magic;
    std::int32_t rank, size;
    std::uint32_t unused;
    CoreSet cores;
};
static_assert(sizeof(HelloLayout) == kHelloBytes);

struct AnswerLayout {
    std::uint32_t magic;
    std::uint32_t status;
    char message[kMostMessageBytes];
};
static_assert(sizeof(AnswerLayout) == kAnswerBytes);

template<class Layout>
std::optional<Layout> read(std::span<const std::byte> bytes) {
    Layout layout;
    if (bytes.size() != sizeof(layout))
        return std::nullopt;
    std::memcpy(&layout, bytes.data(), sizeof(layout));
    return layout.magic == kMagic ? std::optional(layout) : std::nullopt;
}

template<class Layout>
std::array<std::byte, sizeof(Layout)> bytes_of(const Layout &layout) {
    std::array<std::byte, sizeof(Layout)> bytes;
    std::memcpy(bytes.data(), &layout, sizeof(layout));
    return bytes;
}

} // namespace

std::array<std::byte, kHelloBytes> write(const Hello &hello) {
    return bytes_of(HelloLayout{kMagic, hello.rank, hello.size, 0, hello.cores});
}

std::optional<Hello> parse_hello(std::span<const std::byte> bytes) {
    const auto layout = read<HelloLayout>(bytes);
    if (!layout)
        return std::nullopt;
    return Hello{layout->rank, layout->size, layout->cores};
}

std::array<std::byte, kAnswerBytes> write(Status status, std::string_view message) {
    AnswerLayout layout{};
    layout.magic = kMagic;
    layout.status = static_cast<std::uint32_t>(status);
    std::memcpy(layout.message, message.data(), std::min(message.size(), kMostMessageBytes - 1));
    return bytes_of(layout);
}

std::optional<Answer> parse_answer(std::span<const std::byte> bytes) {
    const auto layout = read<AnswerLayout>(bytes);
    if (!layout || layout->status > static_cast<std::uint32_t>(kLastStatus))
        return std::nullopt;
    return Answer{static_cast<Status>(layout->status),
                  {layout->message, strnlen(layout->message, kMostMessageBytes)}};
}

} // namespace stretto::bootstrap
