// SPDX-License-Identifier: BSD-3-Clause
// Messages on the socket on which the ranks of a job find one another.
#include <algorithm>

#include "bootstrap/local/wire.hpp"
#include "fuzz.hpp"

using namespace stretto;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
    if (const auto hello = bootstrap::parse_hello(bytes)) {
        const auto again = bootstrap::parse_hello(bootstrap::write(*hello));
        must(again && again->rank == hello->rank && again->size == hello->size &&
                 again->cores == hello->cores,
             "a greeting is read as it was written");
    }
    if (const auto answer = bootstrap::parse_answer(bytes)) {
        must(answer->status <= kLastStatus, "a status is one of ours");
        must(answer->message.find('\0') == std::string::npos, "a message ends at a zero");
        const auto again =
            bootstrap::parse_answer(bootstrap::write(answer->status, answer->message));
        must(again && again->status == answer->status &&
                 again->message == answer->message.substr(0, bootstrap::kMostMessageBytes - 1),
             "an answer is read as it was written");
    }
    // Any text comes out as it went in, or cut.
    const std::string_view text = fuzz::text_of(data, size);
    const auto told = bootstrap::parse_answer(bootstrap::write(Status::peer, text));
    must(told && text.starts_with(told->message), "a message is told");
    return 0;
}
