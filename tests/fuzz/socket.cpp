// SPDX-License-Identifier: BSD-3-Clause
// Messages by which a rank joins its host: any bytes are what they were written as, or refused.
#include <algorithm>

#include "bootstrap/local/wire.hpp"
#include "fuzz.hpp"

using namespace stretto;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
    if (const auto record = bootstrap::parse_rank_record(bytes)) {
        must(bytes.size() <= bootstrap::kMostRankRecordBytes, "no record is too long");
        const auto written = bootstrap::write(*record);
        const auto again = bootstrap::parse_rank_record(written);
        must(again && bootstrap::write(*again) == written, "a record is written as it was read");
        must(again->rank == record->rank && again->size == record->size &&
                 again->cores == record->cores && again->endpoints == record->endpoints &&
                 again->lacks == record->lacks,
             "and is the same");
        must(!bootstrap::parse_answer(bytes), "no record is an answer");
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
