// SPDX-License-Identifier: BSD-3-Clause
// Who is let in, and who is not.
#include "doctest.h"

#include <algorithm>
#include <string>

#include "net/handshakes.hpp"

using namespace stretto::net;
using test::filled;
using test::let_talk;
using test::said_by;
using test::tell;
using State = Handshake::State;

namespace {

const Key kJob(filled(1));

ConnectionRole to_rank_0() {
    ConnectionRole purpose;
    purpose.kind = ConnectionKind::control;
    purpose.channel = 5;
    purpose.from = 3;
    purpose.epoch = 7;
    return purpose;
}

LocalIdentity rank_0() {
    return {.rank = 0, .size = 4, .epoch = 7};
}

bool is(Handshake &side, Refusal why) {
    CAPTURE(name(side.refusal()));
    CHECK(side.over());
    CHECK(side.state() == State::refused);
    return side.state() == State::refused && side.refusal() == why;
}

// What two sides make of each other that differ in something.
struct Pair {
    Initiator initiator;
    Responder responder;
    Pair(const ConnectionRole &purpose, const LocalIdentity &station, const Key &job = kJob,
         Responder::Judge judge = {})
        : initiator(kJob, purpose, filled(2)), responder(job, station, filled(3), judge) {
        let_talk(initiator, responder);
    }
};

} // namespace

TEST_CASE("two ranks that know the secret agree, however the bytes are cut") {
    for (const std::size_t at_a_time : {1, 7, 40, 1000}) {
        Initiator initiator(kJob, to_rank_0(), filled(2));
        Responder responder(kJob, rank_0(), filled(3));
        const auto talk = let_talk(initiator, responder, at_a_time);
        REQUIRE(initiator.state() == State::agreed);
        REQUIRE(responder.state() == State::agreed);
        CHECK(initiator.over());
        CHECK(responder.over());
        CHECK(initiator.agreement().purpose == to_rank_0());
        CHECK(responder.agreement().purpose == to_rank_0());
        CHECK(initiator.agreement().key.bytes() == responder.agreement().key.bytes());
        CHECK(talk.first.size() == kGreetingBytes + kProofBytes);
        CHECK(talk.second.size() == kChallengeBytes + kVerdictBytes);
    }
}

TEST_CASE("each connection has a key of its own") {
    Initiator initiator(kJob, to_rank_0(), filled(2));
    Responder responder(kJob, rank_0(), filled(3));
    let_talk(initiator, responder);
    Initiator again(kJob, to_rank_0(), filled(4));
    Responder again_responder(kJob, rank_0(), filled(5));
    let_talk(again, again_responder);
    CHECK(initiator.agreement().key.bytes() != again.agreement().key.bytes());
}

TEST_CASE("bytes after the handshake stay in the socket") {
    Initiator initiator(kJob, to_rank_0(), filled(2));
    Responder responder(kJob, rank_0(), filled(3));
    tell(responder, said_by(initiator));
    tell(initiator, said_by(responder));
    test::Bytes proof = said_by(initiator);
    proof.push_back(std::byte{9}); // the first of a frame
    CHECK(tell(responder, proof) == kProofBytes);
    CHECK(responder.wanted().empty());
}

TEST_CASE("another secret is refused on both sides, and the stranger learns nothing") {
    Initiator initiator(kJob, to_rank_0(), filled(2));
    Responder responder(Key(filled(9)), rank_0(), filled(3));
    const auto talk = let_talk(initiator, responder);
    CHECK(is(initiator, Refusal::secret));
    CHECK(is(responder, Refusal::secret));
    CHECK(initiator.has_proved());
    // But for the word itself, no bit of the verdict says anything.
    const auto verdict = std::span(talk.second).subspan(kChallengeBytes);
    CHECK(verdict[0] == std::byte{2});
    CHECK(std::all_of(verdict.begin() + 1, verdict.end(),
                      [](std::byte byte) { return byte == std::byte{0}; }));
    const std::string told = told_to_initiator(initiator.refusal(), initiator.other());
    CHECK(told.find("all ranks need the same secret") != std::string::npos);
    CHECK(told_to_responder(responder.refusal(), responder.other()).find("rank 3") !=
          std::string::npos);
}

TEST_CASE("a listening impostor is detected") {
    // It accepts everybody, with a proof that it makes up or has heard.
    for (const int made_up : {0, 7}) {
        Initiator initiator(kJob, to_rank_0(), filled(2));
        Responder honest(kJob, rank_0(), filled(3));
        tell(honest, said_by(initiator));
        tell(initiator, said_by(honest));
        const test::Bytes proof = said_by(initiator);
        test::Bytes verdict(kVerdictBytes, static_cast<std::byte>(made_up));
        verdict[0] = std::byte{1};
        if (made_up != 0) // our own proof
            std::copy(proof.begin(), proof.end(), verdict.end() - kProofBytes);
        tell(initiator, verdict);
        CHECK(is(initiator, Refusal::secret));
    }
}

TEST_CASE("an error names both versions if the peer knows the secret") {
    ConnectionRole purpose = to_rank_0();
    purpose.protocol = 9;
    purpose.kind = static_cast<ConnectionKind>(77); // which that version may have
    Pair pair(purpose, rank_0());
    CHECK(is(pair.initiator, Refusal::protocol));
    CHECK(is(pair.responder, Refusal::protocol));
    const std::string there = told_to_initiator(Refusal::protocol, pair.initiator.other());
    CHECK(there.find("version 1 of the protocol, this rank version 9") != std::string::npos);
    const std::string here = told_to_responder(Refusal::protocol, pair.responder.other());
    CHECK(here.find("rank 3 speaks version 9") != std::string::npos);
    CHECK(here.find("this rank version 1") != std::string::npos);
    Pair stranger(purpose, rank_0(), Key(filled(9)));
    CHECK(is(stranger.initiator, Refusal::secret)); // who is told nothing of versions
}

TEST_CASE("another rank, another epoch, another kind") {
    ConnectionRole purpose = to_rank_0();
    LocalIdentity station = rank_0();
    station.rank = 2;
    Pair redirected(purpose, station);
    CHECK(is(redirected.initiator, Refusal::rank));
    CHECK(is(redirected.responder, Refusal::rank));
    CHECK(redirected.initiator.other().rank == 2);

    purpose.from = 4; // of a job of four
    Pair outsider(purpose, rank_0());
    CHECK(is(outsider.responder, Refusal::rank));

    purpose = to_rank_0();
    purpose.epoch = 6;
    Pair thawed(purpose, rank_0());
    CHECK(is(thawed.initiator, Refusal::epoch));
    CHECK(is(thawed.responder, Refusal::epoch));
    CHECK(thawed.initiator.other().epoch == 7);

    purpose = to_rank_0();
    purpose.kind = static_cast<ConnectionKind>(77);
    Pair unknown(purpose, rank_0());
    CHECK(is(unknown.initiator, Refusal::unwanted));

    int asked = 0;
    Pair unwanted(to_rank_0(), rank_0(), kJob, [&](const ConnectionRole &wanted) {
        ++asked;
        CHECK(wanted == to_rank_0());
        return false;
    });
    CHECK(asked == 1);
    CHECK(is(unwanted.initiator, Refusal::unwanted));
    CHECK(is(unwanted.responder, Refusal::unwanted));
    Pair stranger(to_rank_0(), rank_0(), Key(filled(9)), [&](const ConnectionRole &) {
        ++asked;
        return true;
    });
    CHECK(asked == 1); // nobody is asked about strangers
}

TEST_CASE("a recording proves nothing") {
    Initiator initiator(kJob, to_rank_0(), filled(2));
    Responder responder(kJob, rank_0(), filled(3));
    const auto talk = let_talk(initiator, responder);
    SUBCASE("of who connected") {
        Responder again(kJob, rank_0(), filled(4));
        tell(again, std::span(talk.first).first(kGreetingBytes));
        said_by(again);
        tell(again, std::span(talk.first).subspan(kGreetingBytes));
        said_by(again);
        CHECK(is(again, Refusal::secret));
    }
    SUBCASE("of who listened") {
        Initiator again(kJob, to_rank_0(), filled(5));
        said_by(again);
        tell(again, std::span(talk.second).first(kChallengeBytes));
        said_by(again);
        tell(again, std::span(talk.second).subspan(kChallengeBytes));
        CHECK(is(again, Refusal::secret));
    }
    SUBCASE("not in another job either, with the very same random numbers") {
        Responder again(Key(filled(6)), rank_0(), filled(3));
        tell(again, std::span(talk.first).first(kGreetingBytes));
        said_by(again);
        tell(again, std::span(talk.first).subspan(kGreetingBytes));
        said_by(again);
        CHECK(is(again, Refusal::secret));
    }
}

TEST_CASE("our own bytes prove nothing") {
    SUBCASE("an echo") {
        Initiator initiator(kJob, to_rank_0(), filled(2));
        const test::Bytes greeting = said_by(initiator);
        tell(initiator, greeting);
        CHECK(is(initiator, Refusal::reflection));
    }
    SUBCASE("our nonce as a challenge") {
        Initiator initiator(kJob, to_rank_0(), filled(2));
        said_by(initiator);
        Responder responder(kJob, rank_0(), filled(2));
        Initiator other(kJob, to_rank_0(), filled(8));
        tell(responder, said_by(other));
        tell(initiator, said_by(responder));
        CHECK(is(initiator, Refusal::reflection));
    }
    SUBCASE("led to our own listener") {
        ConnectionRole purpose = to_rank_0();
        purpose.from = 0;
        purpose.to = 3;
        Pair pair(purpose, rank_0());
        CHECK(is(pair.responder, Refusal::reflection));
        CHECK(is(pair.initiator, Refusal::rank));
    }
    SUBCASE("two initiators face to face") {
        Initiator one(kJob, to_rank_0(), filled(2)), two(kJob, to_rank_0(), filled(3));
        let_talk(one, two);
        CHECK(one.state() == State::refused);
        CHECK(two.state() == State::refused);
    }
}

TEST_CASE("strangers are recognised by their first bytes") {
    const auto text = [](std::string_view said) {
        const auto bytes = std::as_bytes(std::span(said));
        return test::Bytes(bytes.begin(), bytes.end());
    };
    Responder responder(kJob, rank_0(), filled(3));
    tell(responder, text("GET / HTTP/1.1\r\nHost: x\r\n"));
    CHECK(is(responder, Refusal::stranger));
    CHECK(responder.other().first_bytes == "GET / HTTP/1.1");
    Responder binary(kJob, rank_0(), filled(3));
    tell(binary, test::Bytes(8, std::byte{0x16}));
    CHECK(is(binary, Refusal::stranger));
    CHECK(binary.other().first_bytes == "");
    Initiator initiator(kJob, to_rank_0(), filled(2));
    said_by(initiator);
    tell(initiator, text("SSH-2.0-OpenSSH_9.2\r\n"));
    CHECK(is(initiator, Refusal::stranger));
    CHECK(told_to_initiator(initiator.refusal(), initiator.other()).find("SSH-2.0-OpenSSH_9.2") !=
          std::string::npos);
    CHECK_FALSE(initiator.has_proved());
    // Too little to tell.
    Responder waiting(kJob, rank_0(), filled(3));
    tell(waiting, text("GET / H"));
    CHECK(waiting.state() == State::running);
}

TEST_CASE("no bit may change on the way") {
    Initiator first(kJob, to_rank_0(), filled(2));
    Responder second(kJob, rank_0(), filled(3));
    const auto talk = let_talk(first, second);
    const std::size_t all = talk.first.size() + talk.second.size();
    for (std::size_t bit = 0; bit < 8 * all; ++bit) {
        Initiator initiator(kJob, to_rank_0(), filled(2));
        Responder responder(kJob, rank_0(), filled(3));
        // Bits of what the initiator says come first.
        std::size_t from_initiator = 0, from_responder = 8 * talk.first.size();
        const auto pass = [&](Handshake &from, Handshake &to, std::size_t &at) {
            test::Bytes bytes = said_by(from);
            if (bit >= at && bit < at + 8 * bytes.size())
                bytes[(bit - at) / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            at += 8 * bytes.size();
            tell(to, bytes);
            return !bytes.empty();
        };
        bool talking = true;
        while (talking) {
            talking = pass(initiator, responder, from_initiator);
            talking = pass(responder, initiator, from_responder) || talking;
        }
        CAPTURE(bit);
        CHECK(initiator.state() != State::agreed); // where none answers, it waits until it is late
        // The verdict is the last word: who gave it does not learn that it did not arrive.
        const bool verdict = bit >= 8 * (talk.first.size() + kChallengeBytes);
        CHECK((responder.state() == State::agreed) == verdict);
    }
}
