// SPDX-License-Identifier: BSD-3-Clause
#include "membership/member.hpp"

#include <type_traits>
#include <utility>

namespace stretto::membership {

using action::Outcome;

namespace {

Reason silence(int accuser, int accused) {
    return {Status::peer, accuser, accused,
            "rank " + std::to_string(accuser) + " receives nothing from rank " +
                std::to_string(accused)};
}

} // namespace

Member::Member(int rank, View founding, Rules rules)
    : rank_(rank), rules_(rules), view_(std::move(founding)), silent_(view_.members.ranks()),
      suspicions_(view_.members), agreement_(rank, view_, rules),
      decisions_(rank, view_.epoch, view_.members, rules) {}

Actions Member::step(const Event &event) {
    Outbox out;
    std::visit([&](const auto &each) { handle(each, out); }, event);
    advance(out);
    return out.take();
}

// ---- revocation

void Member::flood(int except, std::uint32_t epoch, const Body &body, Outbox &out) const {
    for (const int rank : view_.members)
        if (rank != rank_ && rank != except)
            out.send(rank, epoch, body);
}

void Member::revoke(int from, const Reason &reason, Outbox &out) {
    const bool accuses = reason.culprit != kNoRank && view_.members.has(reason.origin) &&
                         view_.members.has(reason.culprit) &&
                         suspicions_.add({reason.origin, reason.culprit});
    const bool first = !reason_;
    if (first)
        reason_ = reason;
    if (first && !rules_.forwards_first)
        out.add(action::Revoked{reason});
    if ((first || accuses) && (rules_.forwards || from == rank_))
        flood(from, view_.epoch, Revoke{reason}, out);
    if (first && rules_.forwards_first)
        out.add(action::Revoked{reason});
}

void Member::handle(const event::Fail &event, Outbox &out) {
    if (in_force() && !reason_ && event.epoch == view_.epoch)
        revoke(rank_, {event.status, rank_, kNoRank, event.text}, out);
}

void Member::handle(const event::Suspect &event, Outbox &out) {
    if (!in_force() || event.rank == rank_ || !view_.members.has(event.rank))
        return;
    silent_.insert(event.rank);
    // If it is not left, earlier accusations by others have done all that this one could.
    if (suspicions_.left().has(event.rank))
        revoke(rank_, {Status::peer, rank_, event.rank, event.why}, out);
}

// Accuses the members that are silent to this rank but left by the accusations so far, so that all
// members count this suspicion.
void Member::accuse_silent(Outbox &out) {
    const auto to_accuse = [this] {
        const RankSet some = silent_ & suspicions_.left();
        return suspicions_.left().has(rank_) ? some.lowest() : kNoRank;
    };
    // If an accusation removes one member, another one that had conflicts only with it is left
    // again.
    for (int rank = to_accuse(); rank != kNoRank; rank = to_accuse())
        revoke(rank_, silence(rank_, rank), out);
}

// ---- shrinking

void Member::answer(Outcome outcome, Outbox &out) {
    out.add(action::Shrunk{outcome, view_});
}

void Member::handle(const event::Shrink &event, Outbox &out) {
    if (state_ == State::excluded)
        answer(Outcome::excluded, out);
    else if (state_ == State::without_majority)
        answer(Outcome::no_majority, out);
    else if (reason_ && !shrinking_) {
        shrinking_ = true;
        agreement_.contribute(event.completed, out);
    }
}

// Does what follows from the present state, whichever event led to it: accuses, leads, follows,
// succeeds or gives up.
void Member::advance(Outbox &out) {
    if (!in_force() || !reason_)
        return;
    accuse_silent(out);
    if (!shrinking_)
        return;
    const RankSet &left = suspicions_.left();
    const bool unreachable = !left.has(rank_) && left.within(silent_);
    if (!agreement_.enough(left) || unreachable || agreement_.exhausted()) {
        if (rules_.gives_up)
            give_up(out);
        return;
    }
    if (left.lowest() == rank_)
        agreement_.lead(left, out);
    else
        agreement_.follow();
    if (agreement_.decided())
        succeed(rank_, View(*agreement_.decided()), out);
}

void Member::give_up(Outbox &out) {
    revoke(rank_,
           {Status::peer, rank_, rank_,
            "rank " + std::to_string(rank_) + " cannot reach a majority and gives up"},
           out);
    state_ = State::without_majority;
    answer(Outcome::no_majority, out);
}

// `from` reports that `next` is decided.
void Member::succeed(int from, const View &next, Outbox &out) {
    if (rules_.forwards || from == rank_)
        flood(from, next.epoch - 1, DecidedView{next}, out);
    const bool belongs = shrinking_ && next.members.has(rank_) && next.epoch == view_.epoch + 1;
    if (!belongs) {
        if (!reason_) {
            reason_ = {Status::revoked, from, rank_,
                       "the others went on without rank " + std::to_string(rank_) +
                           " while it was silent"};
            out.add(action::Revoked{*reason_});
        }
        state_ = State::excluded;
        view_ = next;
        if (shrinking_)
            answer(Outcome::excluded, out);
        return;
    }
    const RankSet silent = silent_ & next.members;
    *this = Member(rank_, next, rules_);
    answer(Outcome::succeeded, out);
    // A view that was proposed again may hold members that have died since.
    for (const int rank : silent)
        handle(event::Suspect{rank, "rank " + std::to_string(rank) +
                                        " fell silent while the members agreed on this view"},
               out);
}

RankSet Member::awaited() const {
    RankSet awaited(view_.members.ranks());
    if (!in_force() || !shrinking_)
        return awaited;
    const int leader = suspicions_.left().lowest();
    if (leader == rank_)
        return agreement_.awaited();
    // A leader that this member has promised waits for others itself, and suspects them itself.
    if (leader >= 0 && !agreement_.bound_to(leader))
        awaited.insert(leader);
    return awaited;
}

// ---- messages

void Member::handle(const event::Received &event, Outbox &out) {
    if (!in_force())
        return;
    const Message &message = event.message;
    if (const auto *decided = std::get_if<DecidedView>(&message.body)) {
        if (decided->view.epoch > view_.epoch)
            succeed(event.from, decided->view, out);
    } else if (message.epoch != view_.epoch && rules_.fences) {
        fence(event.from, message, out);
    } else if (view_.members.has(event.from)) {
        receive(event.from, message, out);
    }
}

// A message of another epoch.  A member that asks for something in an older epoch has missed the
// end of that epoch.
void Member::fence(int from, const Message &message, Outbox &out) {
    const Body &body = message.body;
    const auto *revoke = std::get_if<Revoke>(&body);
    if (revoke != nullptr && revoke->reason.origin == revoke->reason.culprit) {
        handle(event::Suspect{revoke->reason.origin, revoke->reason.text}, out); // gone for good
        return;
    }
    const bool asks = std::holds_alternative<Beat>(body) || std::holds_alternative<Prepare>(body) ||
                      std::holds_alternative<Propose>(body) || std::holds_alternative<Ask>(body);
    if (message.epoch < view_.epoch && asks)
        out.send(from, view_.epoch - 1, DecidedView{view_});
    else if (message.epoch > view_.epoch)
        out.send(from, view_.epoch, Beat{}); // the answer is the view that this member has missed
}

void Member::receive(int from, const Message &message, Outbox &out) {
    const auto part_of_shrink = [&](const auto &body) {
        if (!reason_) // the epoch was revoked, but the message that said so was lost
            revoke(rank_, {Status::revoked, from, kNoRank, "another rank has called shrink"}, out);
        agreement_.receive(from, body, out);
    };
    std::visit(
        [&](const auto &body) {
            using Kind = std::decay_t<decltype(body)>;
            if constexpr (std::is_same_v<Kind, Revoke>) {
                revoke(from, body.reason, out);
            } else if constexpr (std::is_same_v<Kind, Prepare> || std::is_same_v<Kind, Promise> ||
                                 std::is_same_v<Kind, Refuse> || std::is_same_v<Kind, Propose> ||
                                 std::is_same_v<Kind, Accept>) {
                part_of_shrink(body);
            } else if constexpr (std::is_same_v<Kind, Ask>) {
                if (!reason_)
                    decisions_.receive(from, body, out);
            } else if constexpr (std::is_same_v<Kind, DecidedValue>) {
                if (!reason_)
                    decisions_.receive(body, out);
            }
        },
        message.body);
}

void Member::handle(const event::Restored &event, Outbox &out) {
    const int to = event.rank;
    if (state_ == State::excluded || to == rank_)
        return;
    if (view_.epoch != 0)
        out.send(to, view_.epoch - 1, DecidedView{view_});
    if (!reason_ || !view_.members.has(to)) {
        decisions_.restored(to, out);
        return;
    }
    out.send(to, view_.epoch, Revoke{*reason_});
    for (const auto [accuser, accused] : suspicions_.accusations())
        if (accuser != reason_->origin || accused != reason_->culprit)
            out.send(to, view_.epoch, Revoke{silence(accuser, accused)});
    agreement_.restored(to, out);
}

void Member::handle(const event::Decide &event, Outbox &out) {
    if (in_force() && !reason_)
        decisions_.ask(event.key, event.coordinator, event.value, out);
}

void Member::handle(const event::Forget &event, Outbox &) {
    decisions_.forget(event.from, event.below);
}

} // namespace stretto::membership
