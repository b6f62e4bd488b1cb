// SPDX-License-Identifier: BSD-3-Clause
// The handshake: whatever strangers send, and whatever somebody on the way changes.
#include <algorithm>
#include <span>

#include "fuzz.hpp"
#include "net/handshake.hpp"

using namespace stretto;
using namespace stretto::net;
using fuzz::must;
using State = Handshake::State;
using Bytes = std::vector<std::byte>;

namespace {

Bytes32 filled(int value) {
    Bytes32 bytes;
    bytes.fill(static_cast<std::byte>(value));
    return bytes;
}

ConnectionRole purpose() {
    ConnectionRole result;
    result.from = 3;
    result.epoch = 7;
    return result;
}

struct Pair {
    Initiator initiator{Key(filled(1)), purpose(), filled(2)};
    Responder responder{Key(filled(1)), LocalIdentity{.rank = 0, .size = 4, .epoch = 7}, filled(3)};
};

Bytes said_by(Handshake &side) {
    const auto out = side.outgoing();
    Bytes bytes(out.begin(), out.end());
    side.sent(bytes.size());
    return bytes;
}

// As a socket would: never more than is wanted, and perhaps less.
void tell(Handshake &side, std::span<const std::byte> bytes, std::size_t at_a_time) {
    while (!bytes.empty() && !side.wanted().empty()) {
        const auto room = side.wanted();
        must(room.size() <= kGreetingBytes, "no more than a packet is wanted");
        const std::size_t size = std::min({room.size(), bytes.size(), at_a_time});
        std::copy_n(bytes.begin(), size, room.begin());
        side.arrived(size);
        bytes = bytes.subspan(size);
    }
}

// Any bytes: to a side that does not know who sends them.
void try_stranger(Handshake &side, std::span<const std::byte> bytes, std::size_t at_a_time) {
    said_by(side);
    tell(side, bytes, at_a_time);
    must(side.state() != State::agreed, "nobody agrees with a stranger");
    if (side.state() != State::refused)
        return;
    must(side.other().first_bytes.size() <= 32, "what a stranger says is shown in short");
    must(!told_to_initiator(side.refusal(), side.other()).empty() &&
             !told_to_responder(side.refusal(), side.other()).empty(),
         "a refusal can be told");
}

// Pairs of (where, what): bytes of both sides that are changed on the way.
class Meddler {
public:
    explicit Meddler(std::span<const std::byte> changes) : changes_(changes) {}
    void pass(Handshake &from, Handshake &to) {
        Bytes bytes = said_by(from);
        for (std::size_t i = 0; i + 1 < changes_.size(); i += 2) {
            const auto where = std::to_integer<std::size_t>(changes_[i]);
            if (where < passed_ || where >= passed_ + bytes.size())
                continue;
            bytes[where - passed_] ^= changes_[i + 1];
        }
        const auto out = from.outgoing();
        must(out.empty(), "all is said");
        passed_ += bytes.size();
        said_.insert(said_.end(), bytes.begin(), bytes.end());
        tell(to, bytes, SIZE_MAX);
    }
    const Bytes &said() const { return said_; }

private:
    std::span<const std::byte> changes_;
    std::size_t passed_ = 0;
    Bytes said_;
};

void talk(Pair &pair, Meddler &meddler) {
    for (int turn = 0; turn < 2; ++turn) {
        meddler.pass(pair.initiator, pair.responder);
        meddler.pass(pair.responder, pair.initiator);
    }
}

void try_meddler(std::span<const std::byte> changes) {
    Pair honest, changed;
    Meddler nobody({}), somebody(changes);
    talk(honest, nobody);
    talk(changed, somebody);
    const bool same = somebody.said() == nobody.said();
    must((changed.initiator.state() == State::agreed) == same, "changes are found out");
    if (changed.responder.state() == State::agreed)
        must(std::equal(nobody.said().begin(), nobody.said().end() - kVerdictBytes,
                        somebody.said().begin()),
             "and by the other side, but for its own last word");
    if (same)
        must(changed.initiator.agreement().key.bytes() ==
                     changed.responder.agreement().key.bytes() &&
                 changed.initiator.agreement().purpose == purpose(),
             "both agree on the same");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size < 2)
        return 0;
    const std::span<const std::byte> rest = std::as_bytes(std::span(data + 2, size - 2));
    const std::size_t at_a_time = std::size_t{1} + data[1];
    Pair pair;
    switch (*data) {
    case 'i': try_stranger(pair.initiator, rest, at_a_time); break;
    case 'r': try_stranger(pair.responder, rest, at_a_time); break;
    default: try_meddler(rest);
    }
    return 0;
}
