// SPDX-License-Identifier: BSD-3-Clause
// How a connection is opened: both sides prove that they know the job's secret, and that they mean
// the same connection, before a byte of it is believed.
//
//     initiator                                 responder
//     greeting   64 bytes: purpose, nonce  ->
//                                          <-   challenge  40 bytes: nonce
//     proof      32 bytes                  ->
//                                          <-   verdict    48 bytes: answer, proof
//
// A proof is a hash of greeting and challenge, and so of both nonces, under the job's key.  A
// recorded proof is useless, as the nonces of another handshake differ.  The proofs of the two
// sides have different labels, so that one cannot be sent back as the other.  The initiator, which
// has connected, proves first: a stranger learns nothing from a listener except that it listens.
// Packets have fixed sizes and this form in every version of the protocol; which version is spoken
// afterwards is part of the purpose.
//
// This code has no socket and no clock: bytes in, bytes out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "net/connection_role.hpp"

namespace stretto::net {

inline constexpr std::size_t kGreetingBytes = 64;
inline constexpr std::size_t kChallengeBytes = 40;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kVerdictBytes = 48;

class Handshake {
public:
    enum class State { running, agreed, refused };
    virtual ~Handshake() = default;

    // It is over when there is a verdict and everything is sent.
    bool over() const { return state_ != State::running && outgoing().empty(); }
    State state() const { return state_; }
    const Agreement &agreement() const { return agreement_; } // if agreed
    Refusal refusal() const { return refusal_; }              // if refused
    const Other &other() const { return other_; }

    // The memory for the other side's next bytes; empty if none are expected.  It never exceeds the
    // packet that is due, so that data after the handshake stays in the socket.
    std::span<std::byte> wanted();
    void arrived(std::size_t bytes);
    // The bytes to send; empty if there are none.
    std::span<const std::byte> outgoing() const {
        return std::span(out_).first(end_).subspan(sent_);
    }
    void sent(std::size_t bytes) { sent_ += bytes; }

protected:
    explicit Handshake(const Key &job) : job_(job) {}
    virtual void take_packet() = 0; // the wanted one is there
    void send(std::span<const std::byte> packet);
    // `opening`: the packet's first eight bytes; 0: any.  They show whether the peer speaks this
    // protocol, however little it sends.
    void want(std::size_t bytes, std::uint64_t opening = 0);
    std::span<const std::byte> packet() const { return std::span(in_).first(wanted_); }
    void agree(const ConnectionRole &purpose, std::span<const std::byte> verdict);
    void refuse(Refusal refusal);
    Bytes32 hash(const char *label, std::span<const std::byte> more = {}) const;

    Key job_;
    std::array<std::byte, kGreetingBytes> greeting_{};
    std::array<std::byte, kChallengeBytes> challenge_{};
    Other other_;

private:
    void refuse_opening();

    State state_ = State::running;
    Refusal refusal_ = Refusal::closed;
    Agreement agreement_;
    std::array<std::byte, 64> in_{}, out_{};
    std::size_t wanted_ = 0, arrived_ = 0; // of in_
    std::uint64_t opening_ = 0;
    std::size_t end_ = 0, sent_ = 0; // of out_
};

// The side that connects.
class Initiator : public Handshake {
public:
    // `nonce`: never used before; random_bytes().
    Initiator(const Key &job, const ConnectionRole &purpose, const Bytes32 &nonce);
    bool has_proved() const { return proved_; } // what follows depends on the secret

private:
    void take_packet() override;
    void take_challenge();
    void take_verdict();

    bool proved_ = false;
};

// The rank that listens.
struct LocalIdentity {
    std::uint32_t rank = 0;
    std::uint32_t size = 1; // ranks of the job
    std::uint64_t epoch = 0;
    std::uint16_t protocol = kProtocol;
    bool every_epoch = false; // accepted: the user of the connection checks the epoch
};

// The side that listens.
class Responder : public Handshake {
public:
    // Called once for each initiator that has proved itself: whether such a connection is wanted.
    using Judge = std::function<bool(const ConnectionRole &)>;
    Responder(const Key &job, const LocalIdentity &station, const Bytes32 &nonce, Judge judge = {});

private:
    void take_packet() override;
    void take_greeting();
    void take_proof();
    Verdict judge(const ConnectionRole &purpose) const;
    void answer(Verdict verdict);

    LocalIdentity station_;
    Judge judge_;
    Bytes32 nonce_;
    bool greeted_ = false;
};

} // namespace stretto::net
