// SPDX-License-Identifier: BSD-3-Clause
#include "membership/message.hpp"

#include <algorithm>
#include <utility>

#include "membership/codec.hpp"

namespace stretto::membership {

namespace {

// A message is | version | kind | 0, 2 bytes | epoch, 4 bytes | fields of the body |.
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 8;

// One description of each body for both directions: a Writer writes the fields, a Reader fills
// them.
template<class Codec>
void fields(Codec &codec, Ballot &ballot) {
    codec.number(ballot.round);
    codec.rank(ballot.owner);
    codec.must(ballot.round != 0 && ballot.owner != kNoRank, "a ballot without owner or round");
    codec.must(ballot.round <= kMostRounds, "a ballot of a round that is too high");
}

template<class Codec>
void fields(Codec &codec, View &view) {
    codec.number(view.epoch);
    codec.set(view.members);
    codec.number(view.completed);
}

template<class Codec>
void fields(Codec &codec, Vote &vote) {
    fields(codec, vote.ballot);
    fields(codec, vote.view);
    codec.successor(vote.view);
}

template<class Codec>
void fields(Codec &, Beat &) {}

template<class Codec>
void fields(Codec &codec, Revoke &body) {
    Reason &reason = body.reason;
    codec.status(reason.status);
    codec.rank(reason.origin);
    codec.rank(reason.culprit);
    codec.text(reason.text, kMostTextBytes);
    codec.must(reason.origin != kNoRank, "a reason without origin");
}

template<class Codec>
void fields(Codec &codec, Prepare &body) {
    fields(codec, body.ballot);
}

template<class Codec>
void fields(Codec &codec, Promise &body) {
    fields(codec, body.ballot);
    codec.number(body.completed);
    if (codec.present(body.accepted)) {
        fields(codec, *body.accepted);
        codec.must(body.accepted->ballot <= body.ballot, "a vote of a later ballot");
    }
}

template<class Codec>
void fields(Codec &codec, Refuse &body) {
    fields(codec, body.promised);
}

template<class Codec>
void fields(Codec &codec, Propose &body) {
    fields(codec, body.vote);
}

template<class Codec>
void fields(Codec &codec, Accept &body) {
    fields(codec, body.ballot);
}

template<class Codec>
void fields(Codec &codec, DecidedView &body) {
    fields(codec, body.view);
    codec.successor(body.view);
}

template<class Codec>
void fields(Codec &codec, Ask &body) {
    codec.number(body.key);
    codec.text(body.value, kMostDecisionBytes);
}

template<class Codec>
void fields(Codec &codec, DecidedValue &body) {
    codec.number(body.key);
    codec.text(body.value, kMostDecisionBytes);
}

template<class Codec>
void fields(Codec &codec, Ping &body) {
    codec.number(body.sent);
}

template<class Codec>
void fields(Codec &codec, Pong &body) {
    codec.number(body.sent);
    codec.number(body.arrived);
    codec.number(body.left);
}

template<class Codec>
void fields(Codec &codec, Offset &body) {
    codec.number(body.offset);
    codec.number(body.error);
}

template<class Codec>
void fields(Codec &codec, Offsets &body) {
    codec.number(body.version);
    codec.rank(body.reference);
    codec.by_rank(body.of_rank);
    codec.must(body.reference != kNoRank, "a table of clocks without reference");
}

template<class Codec>
void fields(Codec &codec, Where &body) {
    codec.number(body.ticket);
}

template<class Codec>
void fields(Codec &codec, Here &body) {
    WaitReport &at = body.wait_report;
    codec.number(body.ticket);
    codec.number(at.call);
    codec.number(at.steps);
    codec.number(at.of_steps);
    codec.rank(at.waits_for);
    codec.text(at.what, kMostTextBytes);
}

template<class Codec>
void fields(Codec &, Bye &) {}

template<class Codec>
void fields(Codec &codec, Notice &body) {
    codec.number(body.key);
    codec.number(body.value);
}

template<std::size_t... kinds>
Body empty_body(std::size_t kind, std::index_sequence<kinds...>) {
    Body body;
    (void)((kind == kinds && (body.emplace<kinds>(), true)) || ...);
    return body;
}

} // namespace

std::size_t most_bytes(int ranks) {
    const std::size_t set = 8 * RankSet::word_count(ranks);
    const std::size_t promise = 8 + 8 + 1 + 8 + 12 + set;
    const std::size_t offsets = 8 + 8 * static_cast<std::size_t>(ranks);
    const std::size_t here = 36 + 4 + kMostTextBytes, decision = 8 + 4 + kMostDecisionBytes;
    return kHeaderBytes + std::max({promise, offsets, here, decision});
}

std::vector<std::byte> write(const Message &message) {
    Writer writer;
    writer.number(kVersion);
    writer.number(static_cast<std::uint8_t>(message.body.index()));
    writer.number(std::uint16_t{0});
    writer.number(message.epoch);
    Body body = message.body; // fields() takes a reference that a Reader would write to
    std::visit([&](auto &each) { fields(writer, each); }, body);
    return std::move(writer.bytes);
}

Parsed parse(std::span<const std::byte> bytes, int ranks) {
    Reader reader(bytes, ranks);
    std::uint8_t version = 0, kind = 0;
    std::uint16_t zero = 0;
    Message message;
    reader.number(version);
    reader.number(kind);
    reader.number(zero);
    reader.number(message.epoch);
    reader.must(version == kVersion && zero == 0, "a message of another version");
    reader.must(kind < std::variant_size_v<Body>, "a message of an unknown kind");
    if (!reader.error.empty())
        return {std::nullopt, reader.error};
    reader.epoch = message.epoch;
    message.body = empty_body(kind, std::make_index_sequence<std::variant_size_v<Body>>{});
    std::visit([&](auto &body) { fields(reader, body); }, message.body);
    reader.end();
    if (!reader.error.empty())
        return {std::nullopt, reader.error};
    return {std::move(message)};
}

} // namespace stretto::membership
