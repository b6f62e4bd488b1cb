// SPDX-License-Identifier: BSD-3-Clause
#include "net/handshake.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/spelling.hpp"
#include "net/bytes.hpp"

namespace stretto::net {

namespace {

//     greeting    | magic 8 | protocol 2 | kind 1 | 0 | channel 2 | 0 0 | from 4 | to 4 | epoch 8 |
//                 | nonce 32 |
//     challenge   | magic 8 | nonce 32 |
//     verdict     | verdict 1 | 0 | protocol 2 | rank 4 | epoch 8 | proof 32 |
constexpr std::uint64_t kGreetingMagic = 0x31'6f'74'74'65'72'74'73;  // "stretto1"
constexpr std::uint64_t kChallengeMagic = 0x31'4f'54'54'45'52'54'53; // "STRETTO1"
constexpr std::size_t kVerdictHeadBytes = kVerdictBytes - sizeof(Bytes32);

constexpr char kInitiatorProves[] = "stretto initiator proves";
constexpr char kResponderProves[] = "stretto responder proves";
constexpr char kConnectionKey[] = "stretto connection key";

std::array<std::byte, kGreetingBytes> write(const ConnectionRole &purpose, const Bytes32 &nonce) {
    std::array<std::byte, kGreetingBytes> bytes{};
    put(bytes, 0, kGreetingMagic);
    put(bytes, 8, purpose.protocol);
    put(bytes, 10, static_cast<std::uint8_t>(purpose.kind));
    put(bytes, 12, purpose.channel);
    put(bytes, 16, purpose.from);
    put(bytes, 20, purpose.to);
    put(bytes, 24, purpose.epoch);
    std::copy(nonce.begin(), nonce.end(), bytes.begin() + 32);
    return bytes;
}

ConnectionRole read_purpose(std::span<const std::byte> greeting) {
    ConnectionRole purpose;
    purpose.protocol = get<std::uint16_t>(greeting, 8);
    purpose.kind = static_cast<ConnectionKind>(get<std::uint8_t>(greeting, 10));
    purpose.channel = get<std::uint16_t>(greeting, 12);
    purpose.from = get<std::uint32_t>(greeting, 16);
    purpose.to = get<std::uint32_t>(greeting, 20);
    purpose.epoch = get<std::uint64_t>(greeting, 24);
    return purpose;
}

bool is_kind(ConnectionKind kind) {
    return kind >= ConnectionKind::rendezvous && kind <= ConnectionKind::control;
}

Bytes32 bytes32(std::span<const std::byte> bytes) {
    Bytes32 result;
    std::copy_n(bytes.begin(), result.size(), result.begin());
    return result;
}

// The first bytes of an unknown peer, as text: "SSH-2.0-OpenSSH_9.2", "GET / HTTP/1.1".
std::string first_line(std::span<const std::byte> bytes) {
    constexpr std::size_t kEnoughBytes = 24;
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                                std::min(bytes.size(), kEnoughBytes));
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    const auto letters =
        std::count_if(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return static_cast<std::size_t>(letters) == line.size() ? shown(line) : "";
}

std::optional<Refusal> refusal_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::secret: return Refusal::secret;
    case Verdict::protocol: return Refusal::protocol;
    case Verdict::rank: return Refusal::rank;
    case Verdict::epoch: return Refusal::epoch;
    case Verdict::unwanted: return Refusal::unwanted;
    case Verdict::welcome: break;
    }
    return std::nullopt;
}

} // namespace

std::span<std::byte> Handshake::wanted() {
    return state_ == State::running ? std::span(in_).first(wanted_).subspan(arrived_)
                                    : std::span<std::byte>();
}

void Handshake::arrived(std::size_t bytes) {
    arrived_ += bytes;
    if (opening_ != 0 && arrived_ >= sizeof(opening_) && get<std::uint64_t>(in_, 0) != opening_)
        refuse_opening();
    else if (state_ == State::running && arrived_ == wanted_)
        take_packet();
}

void Handshake::refuse_opening() {
    const bool ours =
        get<std::uint64_t>(greeting_, 0) == kGreetingMagic &&
        std::equal(in_.begin(), in_.begin() + sizeof(kGreetingMagic), greeting_.begin());
    other_.first_bytes = ours ? "" : first_line(std::span(in_).first(arrived_));
    refuse(ours ? Refusal::reflection : Refusal::stranger);
}

void Handshake::want(std::size_t bytes, std::uint64_t opening) {
    wanted_ = bytes;
    opening_ = opening;
    arrived_ = 0;
}

// The packet before it is sent, since the two sides take turns.
void Handshake::send(std::span<const std::byte> packet) {
    std::copy(packet.begin(), packet.end(), out_.begin());
    end_ = packet.size();
    sent_ = 0;
}

void Handshake::agree(const ConnectionRole &purpose, std::span<const std::byte> verdict) {
    agreement_ = {purpose, Key(hash(kConnectionKey, verdict))};
    state_ = State::agreed;
}

void Handshake::refuse(Refusal refusal) {
    refusal_ = refusal;
    state_ = State::refused;
}

// The hash of all packets so far.
Bytes32 Handshake::hash(const char *label, std::span<const std::byte> more) const {
    return KeyedHash(job_, label).add(greeting_).add(challenge_).add(more).finish();
}

// ---- the side that connects

Initiator::Initiator(const Key &job, const ConnectionRole &purpose, const Bytes32 &nonce)
    : Handshake(job) {
    other_.purpose = purpose;
    greeting_ = write(purpose, nonce);
    send(greeting_);
    want(kChallengeBytes, kChallengeMagic);
}

void Initiator::take_packet() {
    if (proved_)
        take_verdict();
    else
        take_challenge();
}

void Initiator::take_challenge() {
    const std::span<const std::byte> bytes = packet();
    std::copy(bytes.begin(), bytes.end(), challenge_.begin());
    if (std::equal(bytes.begin() + 8, bytes.end(), greeting_.begin() + 32))
        return refuse(Refusal::reflection); // of our nonce
    proved_ = true;
    send(hash(kInitiatorProves));
    want(kVerdictBytes);
}

void Initiator::take_verdict() {
    const std::span<const std::byte> head = packet().first(kVerdictHeadBytes);
    const auto verdict = static_cast<Verdict>(get<std::uint8_t>(head, 0));
    // This verdict comes without a proof: a peer that does not know our secret cannot give one.  It
    // can be forged, but an attacker who can do that can also cut the connection.
    if (verdict == Verdict::secret ||
        !same(hash(kResponderProves, head), bytes32(packet().subspan(kVerdictHeadBytes))))
        return refuse(Refusal::secret);
    other_.protocol = get<std::uint16_t>(head, 2);
    other_.rank = get<std::uint32_t>(head, 4);
    other_.epoch = get<std::uint64_t>(head, 8);
    if (const auto refusal = refusal_of(verdict))
        return refuse(*refusal);
    if (verdict != Verdict::welcome)
        return refuse(Refusal::unwanted); // for a reason that only a later version knows
    agree(other_.purpose, head);
}

// ---- the side that listens

Responder::Responder(const Key &job, const LocalIdentity &station, const Bytes32 &nonce,
                     Judge judge)
    : Handshake(job), station_(station), judge_(std::move(judge)), nonce_(nonce) {
    other_.protocol = station.protocol;
    other_.rank = station.rank;
    other_.epoch = station.epoch;
    want(kGreetingBytes, kGreetingMagic);
}

void Responder::take_packet() {
    if (greeted_)
        take_proof();
    else
        take_greeting();
}

void Responder::take_greeting() {
    std::copy(packet().begin(), packet().end(), greeting_.begin());
    other_.purpose = read_purpose(greeting_);
    greeted_ = true;
    put(challenge_, 0, kChallengeMagic);
    std::copy(nonce_.begin(), nonce_.end(), challenge_.begin() + 8);
    send(challenge_);
    want(kProofBytes);
}

void Responder::take_proof() {
    if (!same(hash(kInitiatorProves), bytes32(packet())))
        return answer(Verdict::secret);
    answer(judge(other_.purpose));
}

// From here on the initiator's words are authentic.  Versions are compared first: in another
// version, everything else may have another meaning.
Verdict Responder::judge(const ConnectionRole &purpose) const {
    if (purpose.protocol != station_.protocol)
        return Verdict::protocol;
    if (!is_kind(purpose.kind))
        return Verdict::unwanted;
    // During bootstrap, rank 0 acts for its host as the other node leaders do for theirs.
    const bool to_itself =
        purpose.from == station_.rank && purpose.kind != ConnectionKind::rendezvous;
    if (purpose.to != station_.rank || to_itself || purpose.from >= station_.size)
        return Verdict::rank;
    if (purpose.epoch != station_.epoch && !station_.every_epoch)
        return Verdict::epoch;
    return judge_ && !judge_(purpose) ? Verdict::unwanted : Verdict::welcome;
}

void Responder::answer(Verdict verdict) {
    std::array<std::byte, kVerdictBytes> bytes{};
    const auto head = std::span(bytes).first(kVerdictHeadBytes);
    put(head, 0, static_cast<std::uint8_t>(verdict));
    if (verdict != Verdict::secret) {
        put(head, 2, station_.protocol);
        put(head, 4, station_.rank);
        put(head, 8, station_.epoch);
        const Bytes32 proof = hash(kResponderProves, head);
        std::copy(proof.begin(), proof.end(), bytes.begin() + kVerdictHeadBytes);
    }
    send(bytes);
    const bool own = verdict == Verdict::rank && other_.purpose.from == station_.rank;
    if (const auto refusal = refusal_of(verdict))
        refuse(own ? Refusal::reflection : *refusal);
    else
        agree(other_.purpose, head);
}

} // namespace stretto::net
