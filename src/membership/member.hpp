// SPDX-License-Identifier: BSD-3-Clause
// The membership protocol of one rank, as a state machine.
//
// There is no clock here, no socket and no thread.  An event goes in; messages to send and results
// for the caller come out, in order.  The same events give the same actions.
//
//         a failure                 every caller          the old members        again,
//         is found                  calls shrink          agree on a view        one epoch up
//     in force ------> revoked --------------> shrinking --------------> in force
//                                                 |
//                                                 +--> excluded, or without majority: the end
//
// What the protocol promises, and how it keeps that:
//
//  1. There is one view for each epoch, and a quorum of the old members is in it.  (agreement.hpp)
//  2. If one member learns that an epoch is revoked, every member that lives will learn it.  A
//     member sends the revocation to all others before it reports it to its own caller.  So if a
//     revocation by a rank that died has reached one living member, it reaches all of them.
//  3. A member that has learned of a revocation completes no call of that epoch.  (may_complete())
//  4. A view has one number of completed calls: the least of its members' numbers.
//  5. Every caller of shrink gets an answer, whichever members die and however often: the next
//  view,
//     "excluded" or "no majority".
//  6. A member that missed the end of its epoch, because it was frozen for instance, learns of it
//     from the first member that it sends a message to: every message carries its sender's epoch.
//
// What the protocol assumes: between two members that live, messages arrive in order and without
// loss, or the link is reported broken.  A broken link either comes back, which is an event, and
// both members send again what the other needs; or one member suspects the other, which is final
// within the epoch.  The last messages of a member that dies may be lost, a different number of
// them for each receiver.  All living members suspect a dead member in the end.  A suspicion may be
// wrong.
//
// Why 5 holds: accusations are flooded, so all living members that can exchange messages come to
// the same accusations, and compute the same set of members that are left (suspicions.hpp).  No
// member of this set accuses another one.  So either all of them live, the lowest leads, and all
// answer it; or all of them are silent to the members outside the set, which give up.  A new ballot
// has one of two causes: a new accusation, and there are finitely many of these; or a higher ballot
// of a leader that knew fewer accusations.
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
// `rank` is silent, or the link to it is broken for good.
struct Suspect {
    int rank = kNoRank;
    std::string why;
};
// An operation of this rank has failed: its caller is about to return an error, or gives up.
struct Fail {
    std::uint32_t epoch = 0; // in which it failed; ignored if this epoch has ended
    Status status = Status::peer;
    std::string text;
};
// The caller has seen the revocation and called shrink.
struct Shrink {
    std::uint64_t completed = 0; // calls of this epoch
};
// The link to `rank` broke and is back; the last messages may be lost.
struct Restored {
    int rank = kNoRank;
};
struct Decide {
    std::uint64_t key = 0;
    int coordinator = kNoRank; // the same on all ranks that ask for this key
    std::string value;
};

// No rank asks any more for the decisions of keys with from <= key < below.
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
    bool in_force() const { return state_ == State::member; }
    // The ranks that the caller of shrink waits for.
    RankSet awaited() const;
    bool suspects(int rank) const { return silent_.has(rank); }
    bool knows_decision(std::uint64_t key) const { return decisions_.knows(key); }
    // The members that are left after all accusations (suspicions.hpp).
    const RankSet &left() const { return suspicions_.left(); }

    friend auto operator<=>(const Member &, const Member &) = default;

private:
    enum class State : std::uint8_t { member, excluded, without_majority };

    void handle(const event::Received &event, Outbox &out);
    void handle(const event::Suspect &event, Outbox &out);
    void handle(const event::Fail &event, Outbox &out);
    void handle(const event::Shrink &event, Outbox &out);
    void handle(const event::Restored &event, Outbox &out);
    void handle(const event::Decide &event, Outbox &out);
    void handle(const event::Forget &event, Outbox &out);

    void receive(int from, const Message &message, Outbox &out);
    void fence(int from, const Message &message, Outbox &out);
    void flood(int except, std::uint32_t epoch, const Body &body, Outbox &out) const;
    void revoke(int from, const Reason &reason, Outbox &out);
    void accuse_silent(Outbox &out);
    void advance(Outbox &out);
    void give_up(Outbox &out);
    void succeed(int from, const View &next, Outbox &out);
    void answer(action::Outcome outcome, Outbox &out);

    std::int32_t rank_;
    Rules rules_;
    State state_ = State::member;
    View view_;      // if this rank is excluded: the view of the other members
    RankSet silent_; // members that this rank suspects itself

    // The state of this epoch.
    std::optional<Reason> reason_;
    bool shrinking_ = false;
    Suspicions suspicions_;
    Agreement agreement_;
    DecisionLog decisions_;
};

} // namespace stretto::membership
