// SPDX-License-Identifier: BSD-3-Clause
// Messages of control agents, and what a member does with those that are well-formed: it must
// neither fail nor answer with what is no message.  The input is a list of | sender | size |
// message |.
#include <algorithm>
#include <optional>

#include "fuzz.hpp"
#include "membership/member.hpp"
#include "membership/message.hpp"

using namespace stretto;
using namespace stretto::membership;
using fuzz::must;

namespace {

constexpr int kRanks = 5;

void play(Member &member, const Event &event) {
    for (const Action &action : member.step(event))
        if (const auto *send = std::get_if<action::Send>(&action)) {
            must(send->to >= 0 && send->to < kRanks && send->to != member.rank(),
                 "a message goes to another rank");
            const Parsed parsed = parse(write(send->message), kRanks);
            must(parsed.message && *parsed.message == send->message,
                 "a message is read as it was written");
        }
    must(member.view().members.has(member.rank()) || !member.in_force(),
         "a member belongs to its view");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
    Member member(1, {0, RankSet::all(kRanks), 0});
    while (rest.size() >= 2) {
        const auto from = std::to_integer<int>(rest[0]) % kRanks;
        const auto length =
            std::min<std::size_t>(std::to_integer<std::size_t>(rest[1]), rest.size() - 2);
        const auto bytes = rest.subspan(2, length);
        rest = rest.subspan(2 + length);
        if (from == member.rank()) { // its own caller
            play(member, event::Shrink{length});
            continue;
        }
        const Parsed parsed = parse(bytes, kRanks);
        must(parsed.message.has_value() == parsed.error.empty(), "a refusal has its reason");
        if (!parsed.message)
            continue;
        must(bytes.size() <= most_bytes(kRanks), "no message is longer than the longest");
        must(std::ranges::equal(write(*parsed.message), bytes), "what is accepted is canonical");
        play(member, event::Received{from, *parsed.message});
    }
    return 0;
}
