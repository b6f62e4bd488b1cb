// SPDX-License-Identifier: BSD-3-Clause
// One member's part in the life of a communicator: what it does with what it is told.
//
// There is no clock here, no socket and no thread.  An event goes in; out comes what to send and
// what to tell the caller, in order.  The same events give the same actions.
//
//         a failure                 every caller          the old members        again,
//         is found                  calls shrink          agree on a view        one epoch up
//     in force ------> revoked --------------> shrinking --------------> in force
//                                                 |
//                                                 +--> excluded, or without majority: the end
//
// What it promises, and what makes it so:
//
//  1. One view for each epoch, and a quorum of the old members in it.  (agreement.hpp)
//  2. If a member has been told that an epoch is revoked, every member that lives is or will be.
//     Who learns of it tells all others before it tells its own caller; so if the message of one
//     who died has reached anybody who lives, it reaches all.
//  3. A member that has been told completes no call of that epoch any more.  (may_complete())
//  4. All members of a view have the same number of completed calls in it: the least of theirs.
//  5. Whoever has called shrink gets an answer, whoever dies, however often that happens meanwhile:
//     the next view, "excluded" or "no majority".
//  6. A member that was away, frozen perhaps, is told so by the first whom it addresses: messages
//     carry their epoch.
//
// What it assumes: between two members who live, messages arrive in order and without loss, or the
// link is reported broken.  Then either it comes back, which is an event, and both say again what
// the other needs; or one suspects the other, which is final within the epoch.  Of one who dies,
// the messages sent last may be lost, to each other member a different number of them.  Every dead
// member is suspected in the end by all who live; suspicions may be wrong.
//
// For 5: accusations are flooded, so all who live and can hear one another come to the same
// accusations and to the same members that are left (suspicions.hpp).  No two of these accuse each
// other: so either all of them live and the lowest leads and is answered by all, or all are silent
// to those outside, who give up.  Each new ballot is due to a new accusation, of which there are
// finitely many, or to a higher ballot of one who had fewer.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "membership/agreement.hpp"
#include "membership/decision_log.hpp"
#include "membership/outbox.hpp"
#include "membership/rules.hpp"
#include "membership/suspicions.hpp"
#include "membership/view.hpp"

namespace stretto::membership {

namespace event {

struct Received {
    int from = kNoRank;
    Message message;
};
// Nothing is heard of `rank`, or its link is gone.
struct Suspect {
    int rank = kNoRank;
    std::string why;
};
// Something has failed: the caller is about to return an error, or gives up.
struct Fail {
    std::uint32_t epoch = 0; // in which it failed; nothing happens if that has passed
    Status status = Status::peer;
    std::string text;
};
// The caller, after it was told of the revocation, has called shrink.
struct Shrink {
    std::uint64_t completed = 0; // calls of this epoch
};
// The link to `rank` was broken and has come back; what was sent last may be lost.
struct Restored {
    int rank = kNoRank;
};
struct Decide {
    std::uint64_t key = 0;
    int coordinator = kNoRank; // the same for all who ask for this key
    std::string value;
};

// Nobody asks for the decisions for these keys any more, the last one excluded.
struct Forget {
    std::uint64_t from = 0, below = 0;
};

} // namespace event

using Event = std::variant<event::Received, event::Suspect, event::Fail, event::Shrink,
                           event::Restored, event::Decide, event::Forget>;

class Member {
public:
    Member(int rank, View founding, Rules rules = {});

    Actions step(const Event &event);

    int rank() const { return rank_; }
    const View &view() const { return view_; }
    // Why the epoch has ended, if it has.
    const std::optional<Reason> &revoked() const { return reason_; }
    bool may_complete() const { return !reason_ || !rules_.ends_calls; }
    bool in_force() const { return standing_ == Standing::member; }
    // Whom the caller of shrink waits for.
    RankSet awaited() const;
    bool suspects(int rank) const { return silent_.has(rank); }
    bool knows_decision(std::uint64_t key) const { return decisions_.knows(key); }
    // Who is not accused, or is but stays.
    const RankSet &left() const { return suspicions_.left(); }

    friend auto operator<=>(const Member &, const Member &) = default;

private:
    enum class Standing : std::uint8_t { member, excluded, without_majority };

    void handle(const event::Received &event, Outbox &out);
    void handle(const event::Suspect &event, Outbox &out);
    void handle(const event::Fail &event, Outbox &out);
    void handle(const event::Shrink &event, Outbox &out);
    void handle(const event::Restored &event, Outbox &out);
    void handle(const event::Decide &event, Outbox &out);
    void handle(const event::Forget &event, Outbox &out);

    void take(int from, const Message &message, Outbox &out);
    void fence(int from, const Message &message, Outbox &out);
    void flood(int except, std::uint32_t epoch, const Body &body, Outbox &out) const;
    void revoke(int from, const Reason &reason, Outbox &out);
    void accuse_silent(Outbox &out);
    void settle(Outbox &out);
    void give_up(Outbox &out);
    void succeed(int from, const View &next, Outbox &out);
    void answer(action::Outcome outcome, Outbox &out);

    std::int32_t rank_;
    Rules rules_;
    Standing standing_ = Standing::member;
    View view_;      // excluded: that of the others
    RankSet silent_; // members of whom this one hears nothing

    // Of this epoch.
    std::optional<Reason> reason_;
    bool shrinking_ = false;
    Suspicions suspicions_;
    Agreement agreement_;
    DecisionLog decisions_;
};

} // namespace stretto::membership
